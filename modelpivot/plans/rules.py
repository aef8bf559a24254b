"""What the rules that hold do to a recipe. Pure; the recipe's own word always goes before a rule's."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from modelpivot.models.json_text import read_json
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.recipe import Recipe
from modelpivot.models.rule import AppliedRule, Means, Rule
from modelpivot.plans.ground import Ground, fits_version, holds
from modelpivot.plans.kv_rule import kv_patches, say_unknown

FP8 = ("fp8", "fp8_e4m3", "fp8_e5m2")


class Outcome(NamedTuple):
    """A recipe after its rules."""

    recipe: Recipe
    applied: list[AppliedRule]
    reasons: dict[str, str]
    """Flag or variable -> the rule's id and why."""
    warnings: list[str]
    blocks: list[tuple[Rule, str]]


def apply_rules(rules: Sequence[Rule], ground: Ground) -> Outcome:
    """All rules that hold, in their order. A setting of the KV cache in a shape that nobody here knows is told, whatever holds."""
    outcome = Outcome(ground.recipe, [], {}, say_unknown(ground.config), [])
    for rule in rules:
        if holds(rule.when, ground):
            outcome = _apply(rule, outcome, ground)
    return outcome


def _apply(rule: Rule, outcome: Outcome, ground: Ground) -> Outcome:
    did: list[str] = []
    for means in rule.means:
        if fits_version(means.engine_versions, ground.engine_version):
            outcome, phrases = _take(means, rule, outcome, ground.config)
            did += phrases
    return outcome._replace(applied=[*outcome.applied, AppliedRule(id=rule.id, why=rule.why, link=rule.link, did=did)])


def _take(means: Means, rule: Rule, outcome: Outcome, config: ModelConfig) -> tuple[Outcome, list[str]]:
    recipe = outcome.recipe
    if means.kind == "patch_kv":
        return _patch_kv(rule, outcome, config)
    if means.kind == "hf_overrides":
        return _override(means, rule, outcome)
    if means.kind == "warn":
        return outcome._replace(warnings=[*outcome.warnings, f"{means.text} ({rule.id})"]), ["warns"]
    if means.kind == "block":
        return outcome._replace(blocks=[*outcome.blocks, (rule, means.text)]), ["blocks"]
    if means.kind == "advise" or means.name in (recipe.serve.args if means.kind == "flag" else recipe.serve.env):
        return outcome, []
    return _set(means.kind, means.name, means.value, rule, outcome), [f"{_say_name(means.kind, means.name)} {means.value}"]


def _set(kind: str, name: str, value: str | bool, rule: Rule, outcome: Outcome) -> Outcome:
    field, serve = "args" if kind == "flag" else "env", outcome.recipe.serve
    changed = serve.model_copy(update={field: {**getattr(serve, field), name: value}})
    reasons = {**outcome.reasons, _say_name(kind, name): f"rule {rule.id}: {rule.why}"}
    return outcome._replace(recipe=outcome.recipe.model_copy(update={"serve": changed}), reasons=reasons)


def _say_name(kind: str, name: str) -> str:
    return f"--{name}" if kind == "flag" else name


def _override(means: Means, rule: Rule, outcome: Outcome) -> tuple[Outcome, list[str]]:
    """One key more in `--hf-overrides`; one that the recipe sets, or overrides that are no JSON object, are left."""
    said = outcome.recipe.serve.args.get("hf-overrides")
    overrides = _parse_overrides(said)
    if overrides is None or means.name in overrides:
        return outcome, []
    overrides[means.name] = means.value
    return _set("flag", "hf-overrides", json.dumps(overrides), rule, outcome), [f"--hf-overrides {means.name}: {means.value}"]


def _parse_overrides(said: object) -> dict[str, JsonValue] | None:
    """None: the recipe says something that is no JSON object."""
    if said is None or said is False:
        return {}
    try:
        parsed = read_json(str(said))
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _patch_kv(rule: Rule, outcome: Outcome, config: ModelConfig) -> tuple[Outcome, list[str]]:
    recipe = outcome.recipe
    if (flag := str(recipe.serve.args.get("kv-cache-dtype") or "auto")) != "auto":
        said = f"the recipe sets kv-cache-dtype {flag}: rule {rule.id} leaves it" + (f", though {rule.why}" if flag in FP8 else "")
        return outcome._replace(warnings=[*outcome.warnings, said]) if flag in FP8 else outcome, []
    taken = {(patch.file, patch.pointer) for patch in recipe.patches}
    fresh = [patch for patch in kv_patches(config, f"rule {rule.id}: {rule.why}") if (patch.file, patch.pointer) not in taken]
    changed = recipe.model_copy(update={"patches": [*recipe.patches, *fresh]})
    return outcome._replace(recipe=changed), [
        f"{patch.file} {patch.pointer} {'removed' if patch.remove else 'set to null'}" for patch in fresh
    ]
