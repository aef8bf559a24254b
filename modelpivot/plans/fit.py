"""Whether weights and KV cache fit on the chosen GPUs, and the longest context that does. Pure.

    pool = (memory - reserved) * gpu-memory-utilization - weights - activations - runtime       tokens = pool / bytes per token

`memory` is that of the smallest chosen GPU as the driver tells it, `reserved` what driver and firmware keep of it: CUDA, and so vLLM, sees the
difference (143,771 MiB less 616 MiB are the 139.8 GiB of its log). Weights are exact (headers), bytes per token are exact (`fit_cache`), the rest is
estimated (`fit_activations`); against vLLM's own lines in captured logs the pool is right within 1 GiB. What is chosen leaves that GiB as a margin.
"""

from collections.abc import Mapping, Sequence

from modelpivot.models.fit import Fit, Parallel
from modelpivot.models.frozen import Unread
from modelpivot.models.gpu import Gpu
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.model_parts import ModelWeights
from modelpivot.models.recipe import Scalar
from modelpivot.plans.fit_activations import activation_bytes, batch_tokens
from modelpivot.plans.fit_cache import FP8_WORDS, cache_size, longest_in, sequence_bytes
from modelpivot.plans.fit_weights import weights_per_gpu

MARGIN_BYTES = 1 << 30
DEFAULT_SHARE = 0.92
"""vLLM's own, 0.26 to 0.32."""
RESERVED_SHARE = 0.008
"""Where the driver does not tell: 0.4 % on an H200, 0.65 % on an RTX PRO 6000."""
WITHOUT_LIMIT = 2**36
Args = Mapping[str, Scalar | list[str]]


def judge_fit(
    config: ModelConfig | Unread, weights: ModelWeights, gpus: Sequence[Gpu], args: Args, *, declared_kv: str, is_exact: bool = True
) -> Fit | Unread:
    """The sum for these GPUs. `declared_kv` is the type that the checkpoint asks for after patching. Unread: a number is missing, and which."""
    if isinstance(config, Unread):
        return Unread(unread=f"config.json: {config.unread}")
    parallel = read_parallel(args)
    memory = usable_bytes(gpus)
    if isinstance(memory, Unread):
        return memory
    kv_type = kv_type_of(args, declared_kv, config)
    size = cache_size(config, kv_type, parallel)
    if size is None or config.attention is None:
        return Unread(unread=f"config.json does not say enough of the attention of {config.model_type or 'this model'} ({kv_type})")
    on_gpu, whole, unplaced = weights_per_gpu(weights, config, parallel, args)
    work = activation_bytes(config, parallel, args, memory)
    share = read_share(args)
    pool = int(memory * share) - on_gpu - work
    batch, limit, window = batch_tokens(args, memory), config.max_positions, config.attention.window
    tokens = longest_in(pool, size, window, batch, WITHOUT_LIMIT)
    return Fit(
        parallel=parallel,
        share=share,
        memory_bytes=memory,
        weights_bytes=on_gpu,
        replicated_bytes=whole,
        activation_bytes=work,
        pool_bytes=pool,
        kv_type=kv_type,
        bytes_per_token=size.token_bytes,
        sequence_bytes=sequence_bytes(size, limit or tokens, window, batch),
        tokens=tokens,
        longest=longest_in(pool - MARGIN_BYTES, size, window, batch, limit or WITHOUT_LIMIT),
        asked=asked_length(args),
        limit=limit,
        is_exact=is_exact,
        unplaced_bytes=unplaced,
    )


def read_parallel(args: Args) -> Parallel:
    """The sizes that the flags name; one where they do not."""

    def size(name: str) -> int:
        value = args.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1

    return Parallel(
        tensor=size("tensor-parallel-size"),
        pipeline=size("pipeline-parallel-size"),
        data=size("data-parallel-size"),
        context=size("decode-context-parallel-size"),
        has_expert=args.get("enable-expert-parallel") is True,
    )


def read_share(args: Args) -> float:
    """gpu-memory-utilization, or the engine's default."""
    value = args.get("gpu-memory-utilization")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1 else DEFAULT_SHARE


def asked_length(args: Args) -> int | None:
    """max-model-len as a number; `1k` is 1000 and `1K` 1024, as the engine reads it; None: left to the plan."""
    value = args.get("max-model-len")
    if isinstance(value, str):
        scale = {"k": 1000, "K": 1024, "m": 10**6, "M": 2**20}.get(value[-1:], 0)
        digits = value[:-1] if scale else value
        return int(float(digits) * (scale or 1)) if digits.replace(".", "", 1).isdigit() else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def kv_type_of(args: Args, declared: str, config: ModelConfig) -> str:
    """The cache's element: the flag, else what the checkpoint declares, else the model's own type."""
    word = str(args.get("kv-cache-dtype") or "auto")
    own = str(args.get("dtype") or config.dtype or "bfloat16")
    own = config.dtype or "bfloat16" if own == "auto" else own
    if word == "auto":
        return declared or own
    return "fp8" if word in FP8_WORDS else word


def usable_bytes(gpus: Sequence[Gpu]) -> int | Unread:
    """Memory of the smallest GPU that CUDA can hand out."""
    sizes = []
    for gpu in gpus:
        if isinstance(gpu.total_bytes, Unread):
            return Unread(unread=f"memory of GPU {gpu.index} ({gpu.name}): {gpu.total_bytes.unread}")
        reserved = round(gpu.total_bytes * RESERVED_SHARE) if isinstance(gpu.reserved_bytes, Unread) else gpu.reserved_bytes
        sizes.append(gpu.total_bytes - reserved)
    return min(sizes) if sizes else Unread(unread="no GPU to fit on")
