"""What a GPU holds beside weights and KV cache: the widest moment of a forward pass, the sampler's, and the runtime. Pure; an estimate, in bytes.

vLLM measures it with one pass over `max-num-batched-tokens`. At any moment live: about six hidden states, and either the three inner states of
a dense layer or the two of the chosen experts with their outputs; with MLA the up-projection of 64k tokens of context. After it, the sampler
takes the logits of `max-num-seqs` rows in float32, three times over. Source: vllm/v1/worker/gpu_worker.py, model_executor/layers/attention/
mla_attention.py, engine/arg_utils.py. Seen on an H200 with 0.26 against this formula (GiB): 0.46 and 0.47, 0.84 and 0.94, 0.95 and 1.00.
"""

from collections.abc import Mapping

from modelpivot.models.fit import Parallel
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.recipe import Scalar

GIB = 2**30
HIDDEN_STATES, DENSE_STATES, SAMPLER_COPIES = 6, 3, 3
LATENT_CONTEXT_TOKENS = 64 * 1024
RUNTIME_BYTES = 240 << 20
"""CUDA context and libraries on one GPU: 0.22 GiB seen."""
EXCHANGE_BYTES = 1 << 30
"""Buffers of NCCL and of the all-reduce with more than one GPU: not measured here, taken on the high side."""
Args = Mapping[str, Scalar | list[str]]


def activation_bytes(config: ModelConfig, parallel: Parallel, args: Args, gpu_bytes: int) -> int:
    """All of it on one GPU."""
    peak = max(_forward(config, parallel, batch_tokens(args, gpu_bytes)), _sampler(config, sequences(args, gpu_bytes)))
    return round(peak + RUNTIME_BYTES + (EXCHANGE_BYTES if parallel.gpus > 1 else 0))


def batch_tokens(args: Args, gpu_bytes: int) -> int:
    """max-num-batched-tokens, or the engine's default for a GPU of this size."""
    asked = args.get("max-num-batched-tokens")
    if isinstance(asked, int) and asked > 0:
        return asked
    return 16384 if gpu_bytes >= 160 * GIB else 8192 if gpu_bytes >= 70 * GIB else 2048


def sequences(args: Args, gpu_bytes: int) -> int:
    """max-num-seqs, or the engine's default for a GPU of this size."""
    asked = args.get("max-num-seqs")
    return asked if isinstance(asked, int) and asked > 0 else 1024 if gpu_bytes >= 70 * GIB else 256


def _forward(config: ModelConfig, parallel: Parallel, tokens: int) -> float:
    hidden = config.hidden or 0
    width = HIDDEN_STATES * hidden + max(_dense_width(config, parallel), _expert_width(config, parallel, hidden))
    return 2.0 * tokens * width + _latent_context(config, parallel)


def _dense_width(config: ModelConfig, parallel: Parallel) -> float:
    return DENSE_STATES * (config.inner or 0) / parallel.tensor


def _expert_width(config: ModelConfig, parallel: Parallel, hidden: int) -> float:
    experts = config.experts
    if experts is None:
        return 0.0
    inner = experts.width / (1 if parallel.has_expert else parallel.tensor)
    return experts.per_token * (max(2 * inner, hidden) + inner)


def _latent_context(config: ModelConfig, parallel: Parallel) -> float:
    attention = config.attention
    if attention is None or attention.latent is None:
        return 0.0
    return 2.0 * LATENT_CONTEXT_TOKENS * attention.heads / parallel.tensor * (attention.latent.nope_dim + attention.value_dim)


def _sampler(config: ModelConfig, rows: int) -> float:
    return 4.0 * SAMPLER_COPIES * rows * (config.vocabulary or 0)
