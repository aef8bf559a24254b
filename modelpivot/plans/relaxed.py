"""The candidate without one of its patches: what an engine could not do once, a newer one perhaps can. Pure."""

import re
from typing import NamedTuple

from modelpivot.models.engine import Engine
from modelpivot.models.host import HostConfig
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Patch, Recipe
from modelpivot.plans.probe_model import PROBE_REASON
from modelpivot.plans.release import candidate_release

BY_RULE = re.compile(r"rule ([a-z0-9-]+): ")


class Relaxation(NamedTuple):
    """One reason for patches, and the plan without them."""

    what: str
    plan: Plan


def relaxations(plan: Plan, host: HostConfig, engine: Engine) -> list[Relaxation]:
    """One for each reason that patches were made for; none without patches, or where the candidate is not known."""
    recipe, manifest, resolution = plan.decided or plan.recipe, plan.manifest, plan.resolution
    if manifest is None or resolution is None:
        return []
    reasons = dict.fromkeys(patch.why for patch in recipe.patches if not patch.why.startswith(PROBE_REASON))
    made: list[Relaxation] = []
    for reason in reasons:
        relaxed = _without(recipe, reason)
        candidate = candidate_release(relaxed, host, engine, manifest, resolution)
        without = plan.model_copy(update={"decided": relaxed, "candidate": candidate})
        made.append(Relaxation(_name([patch for patch in recipe.patches if patch.why == reason]), without))
    return made


def _without(recipe: Recipe, reason: str) -> Recipe:
    return recipe.model_copy(update={"patches": [patch for patch in recipe.patches if patch.why != reason]})


def _name(patches: list[Patch]) -> str:
    """`rule fp8-kv-sm120`, or the place that the recipe patches."""
    if by_rule := BY_RULE.match(patches[0].why):
        return f"rule {by_rule[1]}"
    return "the recipe's patch of " + ", ".join(f"{patch.file} {patch.pointer}" for patch in patches)
