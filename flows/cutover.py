"""Cut over to a candidate that is staged: switch, measure, promote; back when it is not good.

Runs on the host's worker and only asks: the minutes in which nothing serves belong to the switch, which needs neither this flow nor Prefect.
"""

from functools import partial

from prefect import State, flow

from flows import tasks
from flows.carry import Ending, carry_out, held_host
from flows.forms import HostBlock, HubBlock, RecipeName, name_run
from flows.hooks import run_hooks
from flows.stage import decide
from modelpivot.errors import PreconditionError
from modelpivot.models.cutover import Cutover
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.plans.release import pin_recipe
from modelpivot.recipes import read_recipe
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_clear, require_nothing_new
from modelpivot.state.releases import read_release

STAGING = ("install", "fetch", "view")
"""Steps that must not be missing any more right before a switch."""


@flow(name="cutover", flow_run_name=name_run)
def cutover(recipe: RecipeName, agreed: bool = False, host: HostBlock = None, hub: HubBlock = None) -> State[None]:
    """Serve a staged candidate: the old model stops, the new one starts, is probed, measured and promoted; else the old one is back.

    Args:
        recipe: What to serve and how; staged before.
        agreed: Answer every question of the plan with yes.
        host: The GPU host; left out, the worker's own.
        hub: The model Hub and its token; left out, what the worker's environment says.
    """
    return carry_out("cutover", recipe, host, hub, partial(_cutover, recipe_name=recipe, agreed=agreed))


def cut_over(context: Context, recipe: Recipe, before: Plan) -> Ending:
    """Facts again, plan again, then the switch, the measurement and the promotion. PreconditionError when something new stands in the way."""
    plan = decide(context, pin_recipe(recipe, before))
    require_nothing_new(before, plan)
    release = require_staged(context, before, plan)
    return confirm(context, recipe, tasks.serve(context, release, recipe))


def confirm(context: Context, recipe: Recipe, serving: Cutover) -> Ending:
    """Measure the candidate that answers, and promote it; anything that says no sends the switch back, and is raised."""
    release = read_release(context.state, serving.to_release)
    try:
        tasks.gate(context, recipe, tasks.benchmark(context, release, recipe), release)
    except Exception as error:
        tasks.go_back(context, serving, getattr(error, "message", f"{type(error).__name__}: {error}"))
        raise
    tasks.promote(context)
    run_hooks(context, "after", [*recipe.hooks.after, *context.host.hooks.after])
    return Ending("promoted", f"{serving.to_release} serves at {release.endpoint.base_url}")


def require_staged(context: Context, before: Plan, plan: Plan) -> Release:
    """The frozen candidate; PreconditionError when it is another than the one that was staged, or not complete on this host."""
    if missing := [step.what for step in plan.steps if step.name in STAGING]:
        raise PreconditionError(f"the candidate is not complete: {'; '.join(missing)}", hint="stage it first (modelpivot run does)")
    if plan.candidate is None or before.candidate is None or plan.candidate.id != before.candidate.id:
        found = plan.candidate.id if plan.candidate else "none"
        raise PreconditionError(
            f"the candidate changed meanwhile: expected {before.candidate.id if before.candidate else 'one'}, found {found}",
            hint="run it again: its model moved, pin a revision to keep it",
        )
    return read_release(context.state, plan.candidate.id)


def _cutover(context: Context, recipe_name: str, agreed: bool) -> Ending:
    recipe = read_recipe(recipe_name)
    with held_host(context):
        plan = decide(context, recipe)
        require_clear(plan, is_agreed=agreed)
        if plan.is_no_change:
            return Ending("no_change", f"{plan.from_release} serves this recipe already")
        return cut_over(context, recipe, plan)
