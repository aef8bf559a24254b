"""What another division among the GPUs, or another type of the KV cache, would give: sentences for the person who reads the plan. Pure."""

from collections.abc import Mapping, Sequence

from modelpivot.models.fit import Fit
from modelpivot.models.frozen import Unread
from modelpivot.models.gpu import Gpu
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.model_parts import ModelWeights
from modelpivot.models.recipe import Recipe, Scalar
from modelpivot.models.size import say_bytes
from modelpivot.plans.fit import judge_fit

SIZES = (1, 2, 4, 8, 16)
Args = Mapping[str, Scalar | list[str]]


def other_divisions(
    fit: Fit, config: ModelConfig, weights: ModelWeights, gpus: Sequence[Gpu], args: Args, declared_kv: str
) -> dict[int, str]:
    """Every other tensor parallel that this host has the GPUs and the model the heads for; nothing for a pipeline or data parallel."""
    heads = config.attention.heads if config.attention else 1
    if fit.parallel.pipeline * fit.parallel.data > 1:
        return {}
    possible = [size for size in SIZES if size <= len(gpus) and heads % size == 0 and size != fit.parallel.tensor]
    return {size: _say_division(size, config, weights, gpus[:size], args, declared_kv) for size in possible}


def other_kv_types(fit: Fit, config: ModelConfig, weights: ModelWeights, gpus: Sequence[Gpu], recipe: Recipe, rule: str) -> list[str]:
    """FP8 where the cache is wider now, the model's own type where it is FP8. `rule`: the one that speaks against FP8; empty: none."""
    other = "fp8" if fit.kv_type in ("bfloat16", "float16") else config.dtype or "bfloat16"
    judged = judge_fit(config, weights, gpus, {**recipe.serve.args, "kv-cache-dtype": other}, declared_kv="")
    if isinstance(judged, Unread) or judged.pool_bytes <= 0:
        return []
    against = f", but rule {rule} speaks against it" if rule and other == "fp8" else ""
    return [f"KV cache in {other}: {judged.tokens} tokens instead of {fit.tokens}{against}"]


def _say_division(size: int, config: ModelConfig, weights: ModelWeights, gpus: Sequence[Gpu], args: Args, declared_kv: str) -> str:
    judged = judge_fit(config, weights, gpus, {**args, "tensor-parallel-size": size}, declared_kv=declared_kv)
    if isinstance(judged, Unread):
        return f"tensor parallel {size}: {judged}"
    need = f"{say_bytes(judged.weights_bytes)} of weights a GPU of {say_bytes(judged.memory_bytes)}"
    if judged.longest <= 0:
        return f"tensor parallel {size} does not fit: {need}"
    return f"tensor parallel {size} fits: {need}, {judged.tokens} tokens of cache"
