"""Where a repository sets the type of its KV cache: every place, and which of them vLLM takes it from.

In a block (facts/quantization.py), in vLLM's order; the first that is set counts, the others as soon as it goes:

    /quantization/kv_cache_scheme, /kv_cache_scheme            {"dynamic": false, "num_bits": 8, "type": "float"}
    /quantization/kv_cache_quant_algo, /kv_cache_quant_algo    "FP8"; an NVFP4 or MXFP8 file of the older form is refused without this key
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from modelpivot.facts.quantization import ASIDE, ELSEWHERE, TEXT, TOP, Block, Config, find_blocks
from modelpivot.models.model_config import KvSetting

SPOTS = ("/quantization/kv_cache_scheme", "/kv_cache_scheme", "/quantization/kv_cache_quant_algo", "/kv_cache_quant_algo")
KEYS = ("kv_cache_scheme", "kv_cache_quant_algo")
STRANGE = re.compile(r"^kv_?cache.*(scheme|quant|algo|dtype|group|config)", re.IGNORECASE)
MOST_STRANGE = 5
NO_WORDS = ("", "NONE", "AUTO")
LIFTS_TEXT = ("kimi_k3",)
"""Model types whose own code in vLLM 0.32 moves the text model's block to the top, where it is read as if it stood there."""


def find_kv_settings(config: Config, quantization_file: Config | None, *, is_latent: bool = False) -> list[KvSetting]:
    """Every place, those that do not count included: they count when the others go. `is_latent`: the attention is MLA."""
    blocks = find_blocks(config, quantization_file)
    counting = _counting(blocks, str(config.get("model_type")), is_latent=is_latent)
    return [
        KvSetting(file=block.file, pointer=block.pointer + spot, value=value, counts=(block.file, block.pointer + spot) in counting)
        for block in blocks
        for spot, value in _settings(block)
    ]


def find_strange(config: Config, quantization_file: Config | None) -> list[str]:
    """Keys that speak of a quantized KV cache where no engine is known to look, and blocks that are no object: `config.json /a/kv_cache_dtype`."""
    blocks = find_blocks(config, quantization_file)
    known = {(block.file, block.pointer + spot) for block in blocks for spot in SPOTS}
    files = {"config.json": config, ASIDE: quantization_file or {}}
    odd = [f"{block.file} {block.pointer or '/'}" for block in blocks if not block.is_object]
    named = [
        f"{file} {pointer}"
        for file, document in files.items()
        for pointer, value in _walk(document, "")
        if STRANGE.search(pointer.rpartition("/")[2]) and value is not None and (file, pointer) not in known
    ]
    return (odd + named)[:MOST_STRANGE]


def _walk(value: JsonValue | Config, pointer: str) -> Iterator[tuple[str, JsonValue]]:
    """Every member of every object below, those inside a known scheme left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            here = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            yield here, inner
            if key not in KEYS:
                yield from _walk(inner, here)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _walk(inner, f"{pointer}/{number}")


def _settings(block: Block) -> Iterator[tuple[str, JsonValue]]:
    for spot in SPOTS:
        value = (block.inner if spot.startswith("/quantization/") else block.body).get(spot.rpartition("/")[2])
        if value is not None and not (isinstance(value, str) and value.upper() in NO_WORDS):
            yield spot, value


def _counting(blocks: Sequence[Block], model_type: str, *, is_latent: bool) -> set[tuple[str, str]]:
    """Places that decide the cache's type: in the first block, and in the file beside where the engine reads that as well."""
    if not blocks or blocks[0].pointer in ELSEWHERE:
        return set()
    read = [blocks[0]] + [block for block in blocks[1:] if block.file == ASIDE and _reads_layers_aside(blocks[0])]
    return {(block.file, block.pointer + spot) for block in read for spot in _deciders(block, model_type, is_latent=is_latent)}


def _reads_layers_aside(block: Block) -> bool:
    """MIXED_PRECISION without its layers: vLLM reads them, and the scales of the KV cache, from the file beside."""
    return block.method.startswith("modelopt") and block.algorithm.upper() == "MIXED_PRECISION" and "quantized_layers" not in block.body


def _deciders(block: Block, model_type: str, *, is_latent: bool) -> list[str]:
    """For ModelOpt the first that is set, in a block at the top; for compressed-tensors the scheme, except with MLA, which never looks at it."""
    spots = [spot for spot, value in _settings(block) if value]
    if block.method == "compressed-tensors":
        return [] if is_latent else [spot for spot in spots if spot == "/kv_cache_scheme"]
    is_read = block.pointer in ("", TOP) or (block.pointer == TEXT and model_type in LIFTS_TEXT)
    if not spots or not is_read or not block.method.startswith("modelopt"):
        return []
    return [] if _is_passed_over(dict(_settings(block))[spots[0]]) else spots[:1]


def _is_passed_over(value: JsonValue) -> bool:
    """A scheme of 8 bits that does not say `dynamic: false`: vLLM warns of it and keeps the model's own type."""
    return isinstance(value, dict) and value.get("num_bits") == 8 and value.get("dynamic") is not False
