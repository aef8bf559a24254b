"""Bytes that the KV cache takes a token, exactly as vLLM lays it out. Pure; bytes of one GPU.

  heads (MHA, GQA, MQA)   max(1, kv_heads / tp) * (key + value) * element, every layer
  MLA                     (kv_lora_rank + qk_rope_head_dim) * element, every layer, the same on every GPU of the tensor parallel
  MLA, sparse (DSA)       FP8: 656 bytes (512 of values, 16 of scales, 128 of positions in bfloat16); besides it the indexer's key in FP8
                          with 4 bytes of scale for 128 elements
  window                  as heads, for no more tokens than the window and one batch
  linear, SSM             a state of fixed size a sequence

Source: vllm/v1/kv_cache_interface.py. Seen on 0.26 (captured logs): 114,688 bytes for 28 layers of 8 heads of 128 in bfloat16; 4,608 and 2,304
for 4 MLA layers in bfloat16 and FP8.
"""

from typing import NamedTuple

from modelpivot.models.fit import Parallel
from modelpivot.models.model_config import Attention, ModelConfig

ELEMENT_BYTES = {"float32": 4.0, "float": 4.0, "bfloat16": 2.0, "float16": 2.0, "half": 2.0, "fp8": 1.0, "int8": 1.0, "nvfp4": 0.5625}
"""nvfp4: four bits and an eight-bit scale for each 16."""
SPARSE_FP8_BYTES = 656
INDEX_BLOCK = 128
BLOCK_TOKENS = 16
FP8_WORDS = ("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "fp8_per_token_head")


class CacheSize(NamedTuple):
    """What a sequence takes."""

    token_bytes: int
    """Of each token, in layers that keep all of them."""
    window_bytes: int
    """Of each token within the window."""
    state_bytes: int
    """Of the sequence, whatever its length."""


def cache_size(config: ModelConfig, kv_type: str, parallel: Parallel) -> CacheSize | None:
    """The sizes for one of ELEMENT_BYTES; None where config.json does not say enough."""
    attention = config.attention
    if attention is None or kv_type not in ELEMENT_BYTES:
        return None
    layer = _layer_bytes(attention, kv_type, parallel)
    full, window = _padded(attention.full_layers, attention.window_layers)
    stages = parallel.pipeline
    return CacheSize(
        token_bytes=round(layer * -(-full // stages)),
        window_bytes=round(layer * -(-window // stages)),
        state_bytes=round(attention.state_bytes / parallel.tensor) * -(-attention.linear_layers // stages),
    )


def bytes_for(size: CacheSize, tokens: int, window: int | None, batch_tokens: int) -> int:
    """What one sequence of so many tokens takes."""
    return size.token_bytes * tokens + sequence_bytes(size, tokens, window, batch_tokens)


def sequence_bytes(size: CacheSize, tokens: int, window: int | None, batch_tokens: int) -> int:
    """Beside the layers that keep every token."""
    kept = min(tokens, (window or 0) + batch_tokens)
    return size.window_bytes * kept + size.state_bytes


def longest_in(pool_bytes: int, size: CacheSize, window: int | None, batch_tokens: int, limit: int) -> int:
    """The most tokens of one sequence that a pool holds, in whole blocks, at most `limit`; 0: none."""
    low, high = 0, max(0, limit)
    while low < high:
        middle = (low + high + 1) // 2
        fits = bytes_for(size, middle, window, batch_tokens) <= pool_bytes
        low, high = (middle, high) if fits else (low, middle - 1)
    return low if low == limit else low // BLOCK_TOKENS * BLOCK_TOKENS


def _layer_bytes(attention: Attention, kv_type: str, parallel: Parallel) -> float:
    element = ELEMENT_BYTES[kv_type]
    if attention.latent is None:
        heads = max(1, -(-attention.kv_heads // parallel.tensor))
        return heads * (attention.key_dim + attention.value_dim) * element / _context(attention, parallel)
    latent = attention.latent
    values = SPARSE_FP8_BYTES if latent.index_dim and kv_type == "fp8" else latent.width * element
    return (values + latent.index_dim + latent.index_dim // INDEX_BLOCK * 4) / parallel.context


def _context(attention: Attention, parallel: Parallel) -> int:
    """GQA shares a sequence among the GPUs that would else hold the same heads twice."""
    return max(1, min(parallel.context, parallel.tensor // max(1, attention.kv_heads)))


def _padded(full: int, window: int) -> tuple[int, int]:
    """Layers of two kinds are kept in groups of one size, the last one filled up."""
    if not full or not window:
        return full, window
    group = min(full, window) if max(full, window) >= 1.25 * min(full, window) else max(full, window)
    return -(-full // group) * group, -(-window // group) * group
