"""The type that a checkpoint gives its KV cache, after patches. Pure."""

from collections.abc import Sequence

from modelpivot.models.model_config import KvSetting, ModelConfig
from modelpivot.models.recipe import Patch


def declared_kv(config: ModelConfig, patches: Sequence[Patch]) -> str:
    """fp8, nvfp4; empty: the model's own type. Places that a patch takes away, and those that the engine does not read, do not count."""
    words = (setting.word for setting in standing(config, patches) if setting.counts)
    return next((word for word in words if word), "")


def asked_kv(config: ModelConfig, patches: Sequence[Patch]) -> str:
    """The same over every place, whether the engine reads it or not: which one it reads differs between versions and models."""
    words = [setting.word for setting in standing(config, patches)]
    return "fp8" if "fp8" in words else "nvfp4" if "nvfp4" in words else ""


def standing(config: ModelConfig, patches: Sequence[Patch]) -> list[KvSetting]:
    """The settings that no patch takes away."""
    gone = {(patch.file, patch.pointer) for patch in patches if patch.remove or patch.new is None}
    return [setting for setting in config.kv_settings if not _is_gone(setting, gone)]


def _is_gone(setting: KvSetting, gone: set[tuple[str, str]]) -> bool:
    """The place itself, or a block above it."""
    return any(file == setting.file and (setting.pointer == pointer or setting.pointer.startswith(f"{pointer}/")) for file, pointer in gone)
