"""The plan of a run: facts decided on, written to the run's folder, and held against what must be clear before anything is touched."""

from collections.abc import Sequence

from modelpivot.errors import PreconditionError, Unanswered
from modelpivot.files import read_model, write_model
from modelpivot.models.facts import Facts
from modelpivot.models.overrides import Overrides
from modelpivot.models.plan import Blocker, Plan
from modelpivot.models.recipe import Recipe
from modelpivot.plans.blockers import new_blockers
from modelpivot.plans.overrides import tell_overrides
from modelpivot.plans.pivot import plan_pivot
from modelpivot.recipes import read_engine
from modelpivot.stages.context import Context
from modelpivot.stages.preflight import preflight
from modelpivot.stages.told import told


def make_plan(context: Context, recipe: Recipe, facts: Facts | None = None) -> Plan:
    """The plan in force from now on, written to the run. Reads the facts first when none are given."""
    facts = facts or preflight(context, recipe)
    with told(context.journal, "plan") as (tell, ending):
        plan = plan_pivot(recipe, context.host, facts, read_engine(recipe.engine.name))
        plan = tell_overrides(plan, read_model(context.run.overrides, Overrides) or Overrides())
        write_model(context.run.plan, plan)
        for warning in plan.warnings:
            tell("warning", warning)
        ending.finish(say_plan(plan), steps=[step.name for step in plan.steps], blockers=[blocker.code for blocker in plan.blockers])
    return plan


def say_plan(plan: Plan) -> str:
    """One line for a person."""
    if plan.blockers:
        return f"blocked: {'; '.join(blocker.what for blocker in plan.blockers)}"
    if plan.candidate and plan.is_no_change:
        return f"{plan.candidate.id} is current and answers: nothing to do"
    asked = "".join(f"; asks first: {question.text}" for question in plan.questions)
    return f"{plan.candidate.id if plan.candidate else 'no candidate'}: {', '.join(step.name for step in plan.steps)}{asked}"


def require_clear(plan: Plan, *, is_agreed: bool) -> None:
    """PreconditionError with every blocker and remedy; Unanswered with the questions that nobody answered. `is_agreed`: a person said yes to all of them."""
    require_none(plan.blockers)
    if plan.questions and not is_agreed:
        lines = [f"\n  {question.id}: {question.text}" for question in plan.questions]
        raise Unanswered(
            f"the plan asks first; nothing was touched{''.join(lines)}",
            asks=[question.text for question in plan.questions],
            hint="say yes (--yes), or put the ids under consents in the recipe",
        )


def require_none(blockers: Sequence[Blocker]) -> None:
    """PreconditionError with every blocker and its remedy; nothing to do without any."""
    if not blockers:
        return
    count = f"{len(blockers)} thing{'s stand' if len(blockers) > 1 else ' stands'} in the way"
    lines = [
        f"\n  {blocker.code} {blocker.what}: expected {blocker.expected}, found {blocker.found}\n    -> {blocker.remedy}"
        for blocker in blockers
    ]
    raise PreconditionError(f"{count}; nothing was touched{''.join(lines)}", hint="mend these, then run it again")


def require_nothing_new(before: Plan, after: Plan) -> None:
    """Right before the switch: PreconditionError when something stands in the way that did not when the run began."""
    require_none(new_blockers(before.blockers, after.blockers))
