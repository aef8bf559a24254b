"""The half of an upgrade test that changes nothing that serves: what is newest, where it can be tried, and everything staged for it."""

from dataclasses import dataclass

from flows import tasks
from flows.stage import stage_candidate
from flows.trying import Tryout
from modelpivot.models.facts import Facts
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.models.upgrade import Asked, Newest, UpgradeResult
from modelpivot.plans.upgrade import find_earlier, pin_current, pin_engine, standing_blockers
from modelpivot.stages.context import Context
from modelpivot.stages.place import Place, choose, choose_place, shape
from modelpivot.stages.plan import require_none
from modelpivot.stages.upgrade import read_upgrades
from modelpivot.state.releases import read_current


@dataclass(frozen=True)
class Found:
    """What is known before anything is tried; without a test the result is whole."""

    result: UpgradeResult
    test: Tryout | None = None
    pinned: Recipe | None = None
    is_planned: bool = False
    """A dry run, which ends here."""


def prepare(context: Context, recipe: Recipe, newest: Newest, asked: Asked, *, is_dry: bool) -> Found:
    """Everything up to the trial, staged unless `is_dry`. PreconditionError names all that stands in the way."""
    result = _begin(context, recipe, newest, asked)
    if newest.verdict or newest.version is None:
        return Found(result)
    pinned = pin_engine(recipe, newest.version, asked.channel)
    facts = _read(context, pinned, asked)
    place = choose_place(context, pinned, facts, asked)
    plan = _plan(place, shape(pinned, facts, place.capacity, place.subject).recipe, facts)
    result = _with_plan(result, place, plan)
    assert plan.candidate is not None
    earlier = None if asked.is_again else find_earlier(read_upgrades(context.state), plan.candidate.id)
    if earlier:
        said = f"{newest.message}; it was tested by run {earlier.run_id}: {earlier.verdict}, {earlier.message}"
        return Found(result.model_copy(update={"verdict": "no_change", "message": said}))
    if is_dry:
        said = f"{plan.candidate.id} would be tried ({place.capacity}): {newest.message}; nothing was changed"
        return Found(result.model_copy(update={"message": said}), is_planned=True)
    return Found(result, _stage(place, plan, recipe, newest), pinned)


def _begin(context: Context, recipe: Recipe, newest: Newest, asked: Asked) -> UpgradeResult:
    return UpgradeResult(
        run_id=context.run.id,
        at=0.0,
        verdict=newest.verdict or "cannot_tell",
        message=newest.message,
        recipe=recipe.name,
        channel=asked.channel,
        current_version=newest.current,
        candidate_version=newest.version,
    )


def _read(context: Context, recipe: Recipe, asked: Asked) -> Facts:
    """Facts of the model that is tried: a recipe may name another repository as its probe model."""
    is_other = choose(asked, context.host)[1] == "probe" and recipe.probe_model is not None
    return tasks.preflight(context, recipe.model_copy(update={"model": recipe.probe_model}) if is_other else recipe)


def _plan(place: Place, recipe: Recipe, facts: Facts) -> Plan:
    plan = tasks.plan(place.context, recipe, facts)
    require_none(standing_blockers(plan, place.excused, is_in_place=place.capacity == "window"))
    return plan


def _with_plan(result: UpgradeResult, place: Place, plan: Plan) -> UpgradeResult:
    return result.model_copy(
        update={
            "capacity": place.capacity,
            "subject": place.subject,
            "model": place.model,
            "candidate": plan.candidate.id if plan.candidate else None,
            "changes": plan.packages,
            "questions": plan.questions,
        }
    )


def _stage(place: Place, plan: Plan, recipe: Recipe, newest: Newest) -> Tryout:
    """The candidate, and where it is tried by turns the current version too, complete beside what serves."""
    candidate = stage_candidate(place.context, plan)
    tried = plan.decided or plan.recipe
    if not place.is_by_turns:
        return Tryout(place, plan, tried, candidate, [candidate], place.frm)
    base = _stage_current(place, recipe, newest)
    return Tryout(place, plan, tried, candidate, [base, candidate], base)


def _stage_current(place: Place, recipe: Recipe, newest: Newest) -> Release:
    pinned = pin_current(recipe, read_current(place.context.state), newest.current)
    facts = tasks.preflight(place.context, pinned.model_copy(update={"model": pinned.probe_model}) if _is_other(place, recipe) else pinned)
    plan = _plan(place, shape(pinned, facts, place.capacity, place.subject).recipe, facts)
    return stage_candidate(place.context, plan)


def _is_other(place: Place, recipe: Recipe) -> bool:
    return place.subject == "probe" and recipe.probe_model is not None
