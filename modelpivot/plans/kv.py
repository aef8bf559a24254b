"""The type that a checkpoint gives its KV cache, after patches. Pure."""

from collections.abc import Sequence

from pydantic import JsonValue

from modelpivot.models.model_config import KvSetting, ModelConfig
from modelpivot.models.recipe import Patch


def declared_kv(config: ModelConfig, patches: Sequence[Patch]) -> str:
    """fp8, int8, nvfp4; empty: the model's own type. Places that a patch takes away, and those that the engine does not read, do not count."""
    gone = {(patch.file, patch.pointer) for patch in patches if patch.remove or patch.new is None}
    words = (kv_word(setting.value) for setting in config.kv_settings if setting.counts and not _is_gone(setting, gone))
    return next((word for word in words if word), "")


def kv_word(value: JsonValue) -> str:
    """`FP8` and {num_bits: 8, type: float} are fp8; empty: a shape that nobody here knows."""
    if isinstance(value, str):
        return {"FP8": "fp8", "INT8": "int8", "NVFP4": "nvfp4", "FP4": "nvfp4"}.get(value.upper(), "")
    if not isinstance(value, dict):
        return ""
    return {(8, "float"): "fp8", (8, "int"): "int8", (4, "float"): "nvfp4"}.get((_bits(value), str(value.get("type", "float"))), "")


def _bits(value: dict[str, JsonValue]) -> int:
    bits = value.get("num_bits")
    return bits if isinstance(bits, int) else 0


def _is_gone(setting: KvSetting, gone: set[tuple[str, str]]) -> bool:
    """The place itself, or a block above it."""
    return any(file == setting.file and (setting.pointer == pointer or setting.pointer.startswith(f"{pointer}/")) for file, pointer in gone)
