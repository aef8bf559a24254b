"""Facts of an engine and a recipe's choice -> what would change, alone and without a model. Pure."""

from pathlib import Path

from modelpivot.models.engine import Engine, Unresolved
from modelpivot.models.engine_change import ChangeVerdict, EngineChange, EnvironmentEntry
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.packages import LiveEnvironment
from modelpivot.models.plan import Blocker
from modelpivot.models.recipe import Recipe
from modelpivot.plans.environment import (
    environment_blockers,
    environment_questions,
    environment_warnings,
    package_changes,
    unresolved_blockers,
)

UNRESOLVED: dict[Unresolved | None, ChangeVerdict] = {"no_wheel": "no_wheel", "unreachable": "unreachable"}


def plan_engine_change(recipe: Recipe, facts: Facts, engine: Engine, read_s: float) -> EngineChange:
    """The engine part of a plan on its own."""
    found, live = facts.engine, facts.engine.live
    changes = package_changes(recipe, facts, engine)
    blockers = [*unresolved_blockers(facts), *environment_blockers(recipe, facts, engine)]
    return EngineChange(
        verdict=_verdict(facts, blockers, is_same=not changes and isinstance(live, LiveEnvironment)),
        environment=live.path if isinstance(live, LiveEnvironment) else None,
        candidate=found.environment_dir if isinstance(found.environment_dir, Path) else None,
        is_proved=found.environment_proved,
        engine_version=None if isinstance(found.resolution, Unread) else found.resolution.engine_version,
        changes=changes,
        altered=live.altered if isinstance(live, LiveEnvironment) else [],
        blockers=blockers,
        questions=environment_questions(recipe, facts, engine),
        warnings=environment_warnings(facts, engine),
        read_s=read_s,
    )


def _verdict(facts: Facts, blockers: list[Blocker], *, is_same: bool) -> ChangeVerdict:
    if isinstance(facts.engine.resolution, Unread):
        return UNRESOLVED.get(facts.engine.problem, "unresolved")
    if blockers:
        return "blocked"
    return "no_change" if is_same else "change"


def mark_surplus(entries: list[EnvironmentEntry], keep: int) -> list[EnvironmentEntry]:
    """Newest first; those that neither a release names nor a process runs from are surplus after the first `keep`."""
    idle = [entry for entry in _newest_first(entries) if not entry.releases and not entry.processes]
    surplus = {entry.name for entry in idle[keep:]}
    return [entry.model_copy(update={"is_surplus": entry.name in surplus}) for entry in _newest_first(entries)]


def _newest_first(entries: list[EnvironmentEntry]) -> list[EnvironmentEntry]:
    return sorted(entries, key=lambda entry: (-entry.made_at, entry.name))
