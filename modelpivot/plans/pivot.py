"""The plan of a pivot: candidate, choices, steps, blockers, questions. Pure: made of recipe, host, facts and engine alone."""

from modelpivot.models.engine import Engine
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.plan import Blocker, Plan, Question
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.plans.about import about_model
from modelpivot.plans.blockers import find_blockers, resumes
from modelpivot.plans.choices import make_choices
from modelpivot.plans.clients import client_changes
from modelpivot.plans.decide import Decided, decide
from modelpivot.plans.environment import (
    environment_blockers,
    environment_choices,
    environment_questions,
    environment_warnings,
    package_changes,
)
from modelpivot.plans.estimates import say_gap, with_estimates
from modelpivot.plans.fit_blockers import engine_check_blockers, fit_blockers, fit_warnings, rule_blockers
from modelpivot.plans.host_notes import host_blockers, host_warnings
from modelpivot.plans.notes import find_warnings, open_questions
from modelpivot.plans.patched import plan_patched
from modelpivot.plans.release import candidate_release
from modelpivot.plans.room import missing_room, name_room, removables, say_strategy
from modelpivot.plans.steps import is_serving, missing_steps


def plan_pivot(recipe: Recipe, host: HostConfig, facts: Facts, engine: Engine) -> Plan:
    """What a pivot to this recipe would do. With the candidate current and answering there is nothing to do, and nothing that stands in the way."""
    manifest, resolution = facts.model.manifest, facts.engine.resolution
    decided = decide(recipe, facts, engine)
    candidate = _candidate(decided.recipe, host, facts, engine)
    is_done = candidate is not None and is_serving(facts, candidate)
    steps = with_estimates(missing_steps(decided.recipe, facts, engine, candidate), facts) if candidate else []
    lacking = missing_room(facts, engine, host)
    room = removables(facts, candidate) if lacking else []
    return Plan(
        recipe=recipe,
        from_release=facts.host.current.id if facts.host.current else None,
        candidate=candidate,
        manifest=None if isinstance(manifest, Unread) else manifest,
        resolution=None if isinstance(resolution, Unread) else resolution,
        strategy="" if is_done else say_strategy(facts, engine, host, room),
        about=about_model(facts),
        decided=decided.recipe,
        fit=decided.fit,
        rules=decided.applied,
        room=[] if is_done else room,
        choices=[*make_choices(decided.recipe, host, facts, engine, decided.reasons), *environment_choices(recipe, facts, engine)],
        patched=plan_patched(decided.recipe, facts),
        packages=package_changes(recipe, facts, engine),
        steps=steps,
        blockers=[] if is_done else name_room(_blockers(decided, host, facts, engine, candidate), room, lacking, facts),
        questions=[] if is_done else _questions(decided.recipe, facts, engine, candidate),
        warnings=_warnings(decided, host, facts, engine, candidate),
        clients=[*client_changes(facts.host.current, candidate), *say_gap(facts, steps)] if candidate else [],
        resumes=facts.host.cutover.id if facts.host.cutover and resumes(facts, candidate) else None,
    )


def _candidate(recipe: Recipe, host: HostConfig, facts: Facts, engine: Engine) -> Release | None:
    manifest, resolution = facts.model.manifest, facts.engine.resolution
    if isinstance(manifest, Unread) or isinstance(resolution, Unread):
        return None
    return candidate_release(recipe, host, engine, manifest, resolution)


def _blockers(decided: Decided, host: HostConfig, facts: Facts, engine: Engine, candidate: Release | None) -> list[Blocker]:
    return [
        *find_blockers(decided.recipe, host, facts, engine, candidate),
        *environment_blockers(decided.recipe, facts, engine),
        *host_blockers(facts),
        *rule_blockers(decided.blocks, facts),
        *fit_blockers(decided.fit, facts),
        *engine_check_blockers(candidate, facts),
    ]


def _questions(recipe: Recipe, facts: Facts, engine: Engine, candidate: Release | None) -> list[Question]:
    asked = environment_questions(recipe, facts, engine)
    return [*open_questions(recipe, facts, engine, candidate), *(question for question in asked if question.id not in recipe.consents)]


def _warnings(decided: Decided, host: HostConfig, facts: Facts, engine: Engine, candidate: Release | None) -> list[str]:
    return [
        *find_warnings(decided.recipe, host, facts, candidate),
        *decided.warnings,
        *fit_warnings(decided.fit),
        *host_warnings(facts),
        *environment_warnings(facts, engine),
    ]
