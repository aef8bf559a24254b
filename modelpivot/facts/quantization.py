"""Where a repository names its quantization and the type of its KV cache: every place, and which of them the engine reads.

config.json           /quantization_config  or  /text_config/quantization_config: goes before
hf_quant_config.json  /quantization: read only where config.json has no block  (vLLM 0.26 and 0.32)
"""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from modelpivot.models.model_config import KvSetting, Quantization

Config = Mapping[str, JsonValue]
KV_KEYS = ("kv_cache_scheme", "kv_cache_quant_algo")
HOLDERS = ("", "/text_config", "/llm_config", "/language_config", "/thinker_config/text_config")
BLOCKS = ("quantization_config", "compression_config")


def find_quantizations(config: Config, quantization_file: Config | None) -> list[Quantization]:
    """Every place with a method or an algorithm; the first counts."""
    return [
        Quantization(file=file, pointer=pointer, method=_method(block, file), algorithm=_word(block.get("quant_algo")), counts=number == 0)
        for number, (file, pointer, block) in enumerate(_blocks(config, quantization_file))
    ]


def find_kv_settings(config: Config, quantization_file: Config | None) -> list[KvSetting]:
    """Every place that sets the KV cache's type, those that do not count included: they count as soon as the others go."""
    return [
        KvSetting(file=file, pointer=f"{pointer}/{key}", value=block[key], counts=number == 0)
        for number, (file, pointer, block) in enumerate(_blocks(config, quantization_file))
        for key in KV_KEYS
        if block.get(key) is not None
    ]


def say_quantization(found: list[Quantization], config: Config) -> str:
    """`modelopt NVFP4`; empty: none."""
    if not found:
        return ""
    first = found[0]
    bits = _bits(config, first) if not first.algorithm else ""
    return " ".join(filter(None, (first.method, first.algorithm or bits)))


def kv_bits(value: JsonValue) -> int | None:
    """Bits of a KV setting's value: FP8 or a scheme of 8 bits is 8, NVFP4 is 4; None: a shape that nobody here knows."""
    if isinstance(value, str):
        return {"FP8": 8, "INT8": 8, "NVFP4": 4, "FP4": 4}.get(value.upper())
    bits = value.get("num_bits") if isinstance(value, Mapping) else None
    return bits if isinstance(bits, int) else None


def _blocks(config: Config, quantization_file: Config | None) -> Iterator[tuple[str, str, Config]]:
    for holder in HOLDERS:
        place = _at(config, holder)
        for name in BLOCKS:
            block = place.get(name)
            if isinstance(block, Mapping) and block:
                yield "config.json", f"{holder}/{name}", block
    inner = (quantization_file or {}).get("quantization")
    if isinstance(inner, Mapping) and inner:
        yield "hf_quant_config.json", "/quantization", inner


def _at(config: Config, holder: str) -> Config:
    place: JsonValue | Config = config
    for name in filter(None, holder.split("/")):
        place = place.get(name) if isinstance(place, Mapping) else None
    return place if isinstance(place, Mapping) else {}


def _method(block: Config, file: str) -> str:
    return _word(block.get("quant_method")) or ("modelopt" if file == "hf_quant_config.json" else "")


def _bits(config: Config, found: Quantization) -> str:
    """The weights' type where the method leaves it open: compressed-tensors, FP8 blocks."""
    block = _at(config, found.pointer)
    groups = block.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if isinstance(weights, Mapping) and isinstance(bits := weights.get("num_bits"), int):
        return f"{_word(weights.get('type')).upper() or 'INT'}{bits}"
    bits = block.get("bits") or block.get("w_bit")
    return f"INT{bits}" if isinstance(bits, int) and not isinstance(bits, bool) else ""


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
