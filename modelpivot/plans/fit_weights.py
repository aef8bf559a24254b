"""How many bytes of weights lie on one GPU. Pure.

Tensor parallel divides what vLLM builds of column- and row-parallel layers: projections of attention and MLPs, experts, embedding and head.
Whole on every GPU stay: norms and scales, routers, the low-rank parts of MLA (`q_a_proj`, `kv_a_proj_with_mqa`), a sparse indexer.
Keys and values of GQA are divided at most by their number of heads. An expert-parallel engine divides experts among all GPUs.
Source: vllm/model_executor/models (deepseek_v2, qwen3_moe) and layers/linear.py, 0.26 to 0.32.
"""

from collections.abc import Iterable, Mapping

from modelpivot.models.fit import Parallel
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.model_parts import ModelWeights, TensorGroup
from modelpivot.models.recipe import Scalar

DIVIDED = ("attention", "head", "embedding", "mlp", "shared_experts", "linear", "whole")
WHOLE = ("latent", "router", "indexer", "small")
Args = Mapping[str, Scalar | list[str]]


def weights_per_gpu(weights: ModelWeights, config: ModelConfig, parallel: Parallel, args: Args) -> tuple[int, int, int]:
    """Bytes on the fullest GPU, the part of them that every GPU holds whole, and the part that no rule places."""
    groups = [group for group in weights.groups if is_loaded(group, args)]
    parts = [(group, group.size_bytes / _divisor(group, config, parallel, args)) for group in groups]
    deepest = _stage_share(config, parallel)
    total = sum(size * (1.0 if group.role in ("embedding", "head", "vision") else deepest) for group, size in parts)
    whole = sum(group.size_bytes for group in groups if _divisor(group, config, parallel, args) == 1) if parallel.tensor > 1 else 0
    unplaced = sum(group.size_bytes for group in groups if group.role == "other")
    return round(total + made_at_load(config, parallel) * deepest), round(whole * deepest), unplaced


def is_loaded(group: TensorGroup, args: Args) -> bool:
    """Layers for multi-token prediction are loaded for speculative decoding only; a vision tower not where it is switched off."""
    if group.role == "next_token":
        return "mtp" in str(args.get("speculative-config", ""))
    return not (group.role == "vision" and args.get("language-model-only") is True)


def made_at_load(config: ModelConfig, parallel: Parallel) -> float:
    """MLA absorbs its up-projection into two matrices in bfloat16, which stay beside the one that was loaded."""
    attention = config.attention
    if attention is None or attention.latent is None or not config.layers:
        return 0.0
    width = attention.latent.nope_dim + attention.value_dim
    return 2.0 * config.layers * attention.heads / parallel.tensor * width * attention.latent.kv_rank


def sum_files(sizes: Iterable[int]) -> ModelWeights:
    """Weights known by their files alone, which an engine divides like all others."""
    total = list(sizes)
    return ModelWeights(groups=[TensorGroup(role="whole", dtype="", tensors=0, size_bytes=sum(total))], files=len(total), read_bytes=0)


def _divisor(group: TensorGroup, config: ModelConfig, parallel: Parallel, args: Args) -> float:
    if group.role in ("experts", "next_token") and parallel.has_expert:
        return parallel.tensor * parallel.data
    if group.role == "keys" and config.attention is not None:
        return min(parallel.tensor, config.attention.kv_heads)
    if group.role == "vision":
        return 1 if args.get("mm-encoder-tp-mode") == "data" else parallel.tensor
    return parallel.tensor if group.role in (*DIVIDED, "experts", "next_token", "keys") else 1


def _stage_share(config: ModelConfig, parallel: Parallel) -> float:
    """The part of all layers in the deepest stage of a pipeline."""
    layers = config.layers or parallel.pipeline
    return -(-layers // parallel.pipeline) / layers
