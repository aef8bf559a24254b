"""Cut over to a candidate that is staged: switch, measure, promote; back when it is not good.

Runs on the host's worker and only asks: the minutes in which nothing serves belong to the switch, which needs neither this flow nor Prefect.
"""

from prefect import State, flow

from flows import tasks
from flows.agreeing import agree, agree_to_the_hour
from flows.carry import Ending, carry_out, held_host
from flows.choosing import choose_recipe
from flows.confirming import confirm, require_askable
from flows.earlier import find_asked_switch
from flows.forms import AS_THE_RECIPE_SAYS, HostBlock, HubBlock, Overrides, Promotion, RecipeName, name_run
from flows.settling import settle
from flows.stage import decide, end_unchanged, stage_candidate
from flows.taking_up import finish_dead_switch, take_up
from modelpivot.errors import PreconditionError
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.plans.release import pin_recipe
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_nothing_new
from modelpivot.stages.staged import pin_staged
from modelpivot.state.releases import read_release

STAGING = ("install", "fetch", "view")
"""Steps that must not be missing any more right before a switch."""


@flow(name="cutover", flow_run_name=name_run)
def cutover(
    recipe: RecipeName,
    agreed: bool = False,
    promotion: Promotion = "gate",
    overrides: Overrides = AS_THE_RECIPE_SAYS,
    host: HostBlock = None,
    hub: HubBlock = None,
) -> State[None]:
    """Serve a staged candidate: the old model stops, the new one starts, is probed, measured and promoted; else the old one is back.

    Args:
        recipe: What to serve and how; staged before.
        agreed: Answer every question of the plan with yes. Off: the run asks, and waits for the answer.
        promotion: Who has the last word on the new model: the gate alone, or a person who is asked after it. No answer: the old one comes back.
        overrides: What this run does differently from its recipe; the same as it was staged with.
        host: The GPU host; left out, the worker's own.
        hub: The model Hub and its token; left out, what the worker's environment says.
    """

    def body(context: Context) -> Ending:
        return move(context, choose_recipe(context, recipe, overrides), agreed, promotion, is_staged=True)

    return carry_out("cutover", recipe, host, hub, body)


def cut_over(context: Context, recipe: Recipe, before: Plan, promotion: Promotion, *, is_agreed: bool, is_proved: bool) -> Ending:
    """Facts again, plan again, then the switch, the measurement and the promotion. PreconditionError when something new stands in the way.

    `is_proved`: this very run asked shards and engine. Else they are asked now: a run that staged it may have ended at their no.
    """
    plan = decide(context, pin_recipe(recipe, before))
    require_nothing_new(before, plan)
    release = require_staged(context, before, plan)
    if not is_proved:
        tasks.check_shards(context, plan)
        tasks.check_engine(context, release)
    agree_to_the_hour(context, release.id, is_agreed=is_agreed)
    return confirm(context, recipe, tasks.serve(context, release, recipe), promotion)


def require_staged(context: Context, before: Plan, plan: Plan) -> Release:
    """The frozen candidate; PreconditionError when it is another than the one that was staged, or not complete on this host."""
    if missing := [step.what for step in plan.steps if step.name in STAGING]:
        raise PreconditionError(f"the candidate is not complete: {'; '.join(missing)}", hint="stage it first (modelpivot stage)")
    if plan.candidate is None or before.candidate is None or plan.candidate.id != before.candidate.id:
        found = plan.candidate.id if plan.candidate else "none"
        raise PreconditionError(
            f"the candidate changed meanwhile: expected {before.candidate.id if before.candidate else 'one'}, found {found}",
            hint="run it again: its model moved, pin a revision to keep it",
        )
    return read_release(context.state, plan.candidate.id)


def move(context: Context, recipe: Recipe, agreed: bool, promotion: Promotion, *, is_staged: bool) -> Ending:
    """To the candidate, staged on the way unless it is: then to what was staged. A switch that is open already is settled, or followed to its end."""
    require_askable(promotion)
    if over := find_asked_switch(context):
        return settle(context, over)
    wanted = pin_staged(context, recipe) if is_staged else recipe
    if taken_up := take_up(context, wanted):
        return confirm(context, recipe, tasks.serve_on(context, taken_up), promotion)
    with held_host(context, is_recovering=True):
        finish_dead_switch(context)
        plan = decide(context, wanted)
        agree(context, plan, is_agreed=agreed)
        if plan.is_no_change:
            return end_unchanged(context, plan)
        if not is_staged:
            stage_candidate(context, plan)
        return cut_over(context, recipe, plan, promotion, is_agreed=agreed, is_proved=not is_staged)
