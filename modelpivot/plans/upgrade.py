"""Which engine an upgrade test tries: what is in use, whether the newest one is newer, and the recipe with it. Pure."""

from collections.abc import Sequence

from packaging.version import InvalidVersion, Version

from modelpivot.errors import PreconditionError
from modelpivot.models.engine import Engine
from modelpivot.models.plan import Blocker, Plan, Question
from modelpivot.models.recipe import EngineChoice, Recipe
from modelpivot.models.release import Release
from modelpivot.models.upgrade import DECIDED, Channel, Newest, UpgradeResult
from modelpivot.plans.notes import NO_WAY_BACK

ONLY_ASKED = ("PACKAGES_BLOCKED", "ENVIRONMENT_PATCHED")
"""Blockers of what a pivot would change for good: a test changes nothing for good, and tells them."""


def require_movable(recipe: Recipe) -> None:
    """PreconditionError for a recipe that names its engine by commit or address: no index has a newer one of that."""
    if fixed := [line for line in recipe.engine.requirements if "{version}" not in line]:
        hint = "name the engine with {version}, or leave engine.requirements out"
        raise PreconditionError(f"the recipe fixes its engine ({', '.join(fixed)}): an index has no newer one of it", hint=hint)


def serves_recipe(recipe: Recipe, current: Release | None) -> bool:
    """Whether what is current was made of this recipe."""
    return current is not None and current.origin == "recipe" and current.name == recipe.name


def version_in_use(recipe: Recipe, engine: Engine, current: Release | None) -> str:
    """The engine's version that the newest one is held against."""
    if current is not None and serves_recipe(recipe, current) and current.engine == engine.name:
        return current.engine_version
    return recipe.engine.version or engine.tested[0]


def judge_newest(engine: Engine, channel: Channel, current: str, found: str) -> Newest:
    """Something to test, or no change: an index that is stale, or serves the stable version for a nightly, has nothing newer."""
    if is_newer(found, current):
        return Newest(current=current, version=found, message=f"{engine.distribution} {found}, in use is {current}")
    said = f"the {channel} channel has {engine.distribution} {found}, in use is {current}: nothing newer"
    return Newest(current=current, version=found, verdict="no_change", message=said)


def is_newer(found: str, current: str) -> bool:
    """By the order of versions; any other one, where that in use has no place in it (a git commit)."""
    try:
        return Version(found) > Version(current)
    except InvalidVersion:
        return found != current


def pin_engine(recipe: Recipe, version: str, channel: Channel = "stable") -> Recipe:
    """The recipe with this very version: what is tested, and what a pivot makes current afterwards."""
    changes = {"version": version, "channel": "nightly" if channel == "nightly" else "stable", "resolution": None}
    return recipe.model_copy(update={"engine": recipe.engine.model_copy(update=changes)})


def pin_current(recipe: Recipe, current: Release | None, version: str) -> Recipe:
    """The recipe with the engine in use: the very environment that serves, where it serves this recipe."""
    pinned = pin_engine(recipe, version)
    if current is None or not serves_recipe(recipe, current):
        return pinned
    engine: EngineChoice = pinned.engine.model_copy(update={"resolution": current.environment_dir.name.rpartition("-")[2]})
    return pinned.model_copy(update={"engine": engine})


def standing_blockers(plan: Plan, excused: Sequence[str] = (), *, is_in_place: bool = False) -> list[Blocker]:
    """What stands in the way of a test; `is_in_place`: one that stops what serves, so that this must be able to come back."""
    lost = [question for question in plan.questions if question.id == NO_WAY_BACK] if is_in_place else []
    return [
        *(blocker for blocker in plan.blockers if blocker.code not in (*ONLY_ASKED, *excused)),
        *(_cannot_come_back(question) for question in lost),
    ]


def _cannot_come_back(question: Question) -> Blocker:
    remedy = "bring them back beside what serves: modelpivot stage with its recipe"
    return Blocker(code="NO_WAY_BACK", what="what serves", expected="all its parts on disk", found=question.text, remedy=remedy)


def find_earlier(earlier: Sequence[UpgradeResult], candidate: str) -> UpgradeResult | None:
    """The newest test of this very candidate that came to a verdict which holds; None: it is still to be tested."""
    return next((one for one in earlier if one.candidate == candidate and one.verdict in DECIDED), None)
