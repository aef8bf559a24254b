"""Which rules hold for a model on a host, and what they do to a recipe. Pure; the recipe's own word always goes before a rule's."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from modelpivot.models.frozen import Unread
from modelpivot.models.gpu import Gpu, GpuLink
from modelpivot.models.model_config import KvSetting, ModelConfig
from modelpivot.models.recipe import Patch, Recipe
from modelpivot.models.rule import AppliedRule, Means, Rule, When

FP8 = ("fp8", "fp8_e4m3", "fp8_e5m2")


class Ground(NamedTuple):
    """What rules are asked about."""

    recipe: Recipe
    config: ModelConfig
    gpus: Sequence[Gpu]
    links: Sequence[GpuLink] | Unread
    engine_version: str
    kv_bits: int | None
    """That the checkpoint, or a flag over it, asks for; None: nothing, or a shape that nobody here knows."""


class Outcome(NamedTuple):
    """A recipe after its rules."""

    recipe: Recipe
    applied: list[AppliedRule]
    reasons: dict[str, str]
    """Flag, variable or patch pointer -> the rule's id and why."""
    warnings: list[str]
    blocks: list[tuple[Rule, str]]


def holds(when: When, ground: Ground) -> bool:
    """Whether every condition that is named holds."""
    return all((_fits_gpus(when, ground), _fits_model(when, ground), _fits_rest(when, ground)))


def apply_rules(rules: Sequence[Rule], ground: Ground) -> Outcome:
    """All rules that hold, in their order."""
    outcome = Outcome(ground.recipe, [], {}, [], [])
    for rule in rules:
        if holds(rule.when, ground):
            outcome = _apply(rule, outcome, ground.config)
    return outcome


def kv_patches(config: ModelConfig, why: str) -> list[Patch]:
    """One patch for each place that sets the KV cache's type, those that do not count yet included: they count when the others go.

    The scheme's key goes; the older file keeps its key with null, since NVFP4 is refused without it. A shape that nobody here knows is left.
    """
    return [_kv_patch(setting, why) for setting in config.kv_settings if is_known(setting)]


def is_known(setting: KvSetting) -> bool:
    """Whether the value says 8 or 4 bits in a way that we know."""
    value = setting.value
    return isinstance(value.get("num_bits"), int) if isinstance(value, dict) else str(value).upper() in ("FP8", "INT8", "NVFP4", "FP4")


def _kv_patch(setting: KvSetting, why: str) -> Patch:
    is_key_needed = setting.pointer.endswith("/kv_cache_quant_algo")
    return Patch(file=setting.file, pointer=setting.pointer, expected=setting.value, new=None, remove=not is_key_needed, why=why)


def _apply(rule: Rule, outcome: Outcome, config: ModelConfig) -> Outcome:
    did: list[str] = []
    for means in rule.means:
        outcome, phrases = _take(means, rule, outcome, config)
        did += phrases
    return outcome._replace(applied=[*outcome.applied, AppliedRule(id=rule.id, why=rule.why, link=rule.link, did=did)])


def _take(means: Means, rule: Rule, outcome: Outcome, config: ModelConfig) -> tuple[Outcome, list[str]]:
    recipe, reason = outcome.recipe, f"rule {rule.id}: {rule.why}"
    if means.kind == "patch_kv":
        return _patch_kv(rule, outcome, config)
    if means.kind == "warn":
        return outcome._replace(warnings=[*outcome.warnings, f"{means.text} ({rule.id})"]), ["warns"]
    if means.kind == "block":
        return outcome._replace(blocks=[*outcome.blocks, (rule, means.text)]), ["blocks"]
    if means.kind == "advise" or means.name in (recipe.serve.args if means.kind == "flag" else recipe.serve.env):
        return outcome, []
    field = "args" if means.kind == "flag" else "env"
    values = {**getattr(recipe.serve, field), means.name: means.value}
    serve = recipe.serve.model_copy(update={field: values})
    name = f"--{means.name}" if means.kind == "flag" else means.name
    changed = outcome._replace(recipe=recipe.model_copy(update={"serve": serve}), reasons={**outcome.reasons, name: reason})
    return changed, [f"{name} {means.value}"]


def _patch_kv(rule: Rule, outcome: Outcome, config: ModelConfig) -> tuple[Outcome, list[str]]:
    recipe = outcome.recipe
    if (flag := str(recipe.serve.args.get("kv-cache-dtype", "auto"))) != "auto":
        said = f"the recipe sets kv-cache-dtype {flag}: rule {rule.id} leaves it" + (f", though {rule.why}" if flag in FP8 else "")
        return outcome._replace(warnings=[*outcome.warnings, said]) if flag in FP8 else outcome, []
    unknown = [setting for setting in config.kv_settings if not is_known(setting)]
    warnings = [
        f"{setting.file} sets the KV cache at {setting.pointer} in a shape that is not known here: it is not edited" for setting in unknown
    ]
    taken = {(patch.file, patch.pointer) for patch in recipe.patches}
    fresh = [patch for patch in kv_patches(config, f"rule {rule.id}: {rule.why}") if (patch.file, patch.pointer) not in taken]
    changed = recipe.model_copy(update={"patches": [*recipe.patches, *fresh]})
    did = [f"{patch.file} {patch.pointer} {'removed' if patch.remove else 'set to null'}" for patch in fresh]
    return outcome._replace(recipe=changed, warnings=[*outcome.warnings, *warnings]), did


def _fits_gpus(when: When, ground: Ground) -> bool:
    found = [gpu.compute_capability for gpu in ground.gpus]
    known = [word for word in found if isinstance(word, str)]
    if when.capabilities and not any(word in when.capabilities for word in known):
        return False
    if when.capability_below and not any(_version(word) < _version(when.capability_below) for word in known):
        return False
    if when.capability_from and not (known and all(_version(word) >= _version(when.capability_from) for word in known)):
        return False
    return when.is_pcie_only is None or is_pcie_only(ground) == when.is_pcie_only


def is_pcie_only(ground: Ground) -> bool:
    """More than one chosen GPU, their topology known, and no NVLink between any two of them."""
    chosen = {gpu.index for gpu in ground.gpus}
    if isinstance(ground.links, Unread):
        return False
    between = [link for link in ground.links if link.first in chosen and link.second in chosen]
    return bool(between) and not any(link.level.startswith("NV") for link in between)


def _fits_model(when: When, ground: Ground) -> bool:
    config, latent = ground.config, ground.config.attention.latent if ground.config.attention else None
    names = " ".join((config.text_model_type, config.model_type, *config.architectures, ground.recipe.model.repo)).lower()
    return (
        (not when.quantization or re.search(when.quantization, config.quantization.lower()) is not None)
        and (when.kv_bits is None or ground.kv_bits == when.kv_bits)
        and (not when.attention or config.kind in when.attention)
        and (when.is_sparse is None or bool(latent and latent.index_dim) == when.is_sparse)
        and (not when.family or re.search(when.family, names) is not None)
        and (when.has_remote_code is None or config.has_remote_code == when.has_remote_code)
        and (when.has_vision is None or config.has_vision == when.has_vision)
    )


def _fits_rest(when: When, ground: Ground) -> bool:
    args = ground.recipe.serve.args
    if any(args.get(flag) not in (None, False) for flag in when.lacks_flags):
        return False
    if when.is_parallel is not None and (len(ground.gpus) > 1) != when.is_parallel:
        return False
    if not when.engine_versions:
        return True
    try:
        return Version(ground.engine_version) in SpecifierSet(when.engine_versions, prereleases=True)
    except InvalidVersion:
        return False


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))
