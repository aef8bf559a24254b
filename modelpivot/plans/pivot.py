"""The plan of a pivot: candidate, choices, steps, blockers, questions. Pure: made of recipe, host, facts and engine alone."""

from modelpivot.models.engine import Engine
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.plans.blockers import find_blockers, resumes
from modelpivot.plans.choices import make_choices
from modelpivot.plans.clients import client_changes
from modelpivot.plans.environment import (
    environment_blockers,
    environment_choices,
    environment_questions,
    environment_warnings,
    package_changes,
)
from modelpivot.plans.notes import find_warnings, open_questions
from modelpivot.plans.release import candidate_release
from modelpivot.plans.steps import is_serving, missing_steps


def plan_pivot(recipe: Recipe, host: HostConfig, facts: Facts, engine: Engine) -> Plan:
    """What a pivot to this recipe would do. With the candidate current and answering there is nothing to do, and nothing that stands in the way."""
    manifest, resolution = facts.model.manifest, facts.engine.resolution
    candidate = _candidate(recipe, host, facts, engine)
    is_done = candidate is not None and is_serving(facts, candidate)
    return Plan(
        recipe=recipe,
        from_release=facts.host.current.id if facts.host.current else None,
        candidate=candidate,
        manifest=None if isinstance(manifest, Unread) else manifest,
        resolution=None if isinstance(resolution, Unread) else resolution,
        choices=[*make_choices(recipe, host, facts, engine), *environment_choices(recipe, facts, engine)],
        packages=package_changes(recipe, facts, engine),
        steps=missing_steps(recipe, facts, engine, candidate) if candidate else [],
        blockers=[] if is_done else [*find_blockers(recipe, host, facts, engine, candidate), *environment_blockers(recipe, facts, engine)],
        questions=[] if is_done else [*open_questions(recipe, facts, engine), *environment_questions(recipe, facts, engine)],
        warnings=[*find_warnings(recipe, host, facts, candidate), *environment_warnings(facts, engine)],
        clients=client_changes(facts.host.current, candidate) if candidate else [],
        resumes=facts.host.cutover.id if facts.host.cutover and resumes(facts, candidate) else None,
    )


def _candidate(recipe: Recipe, host: HostConfig, facts: Facts, engine: Engine) -> Release | None:
    manifest, resolution = facts.model.manifest, facts.engine.resolution
    if isinstance(manifest, Unread) or isinstance(resolution, Unread):
        return None
    return candidate_release(recipe, host, engine, manifest, resolution)
