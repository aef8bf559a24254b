"""The view patch against a quantized KV cache: one change for each place that sets its type, and a word for what is left alone. Pure."""

from modelpivot.models.model_config import KvSetting, ModelConfig
from modelpivot.models.recipe import Patch


def kv_patches(config: ModelConfig, why: str) -> list[Patch]:
    """One patch for each place that sets the KV cache's type in a shape that is known, those that do not count yet included: they count when the
    others go.

    A scheme's key goes; `kv_cache_quant_algo` stays with null, since the older form of NVFP4 and MXFP8 is refused without it.
    """
    known = [setting for setting in config.kv_settings if setting.word]
    return [_kv_patch(setting, why) for setting in sorted(known, key=lambda setting: setting.counts)]


def say_unknown(config: ModelConfig) -> list[str]:
    """One sentence for each place that nobody here knows, or its value's shape, and one where the kind of attention is not told."""
    unjudged = "config.json does not tell the kind of attention: rules about the KV cache are not judged"
    is_asked = config.kind == "unknown" and any(setting.word for setting in config.kv_settings)
    shapes = [
        f"{setting.file} sets the KV cache at {setting.pointer} in a shape that is not known here: it is not edited"
        for setting in config.kv_settings
        if not setting.word
    ]
    strange = [f"{place} speaks of a quantized KV cache in a way that is not known here: it is not edited" for place in config.kv_strange]
    return [*([unjudged] if is_asked else []), *shapes, *strange]


def _kv_patch(setting: KvSetting, why: str) -> Patch:
    is_key_needed = setting.pointer.endswith("/kv_cache_quant_algo")
    may_miss = setting.file != "config.json"
    return Patch(file=setting.file, if_present=may_miss, pointer=setting.pointer, expected=setting.value, remove=not is_key_needed, why=why)
