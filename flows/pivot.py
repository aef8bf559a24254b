"""Move this host to another model: stage beside the running service, prove, switch, measure, promote.

Runs on the host's worker, or in a child of `modelpivot run`. A run that dies is run again: facts are read anew, what is there is found.
"""

from functools import partial

from prefect import State, flow

from flows import tasks
from flows.carry import Ending, carry_out, held_host
from flows.cutover import confirm, cut_over
from flows.forms import HostBlock, HubBlock, RecipeName, name_run
from flows.stage import decide, stage_candidate
from flows.taking_up import finish_dead_switch, take_up
from modelpivot.recipes import read_recipe
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_clear, say_plan


@flow(name="pivot", flow_run_name=name_run)
def pivot(recipe: RecipeName, dry_run: bool = True, agreed: bool = False, host: HostBlock = None, hub: HubBlock = None) -> State[None]:
    """Move this host to another model. The old one serves until the switch, and is back by itself when the new one is not good.

    Args:
        recipe: What to serve and how.
        dry_run: Only read and plan; nothing is changed.
        agreed: Answer every question of the plan with yes.
        host: The GPU host; left out, the worker's own.
        hub: The model Hub and its token; left out, what the worker's environment says.
    """
    return carry_out("pivot", recipe, host, hub, partial(_pivot, recipe_name=recipe, dry_run=dry_run, agreed=agreed))


def _pivot(context: Context, recipe_name: str, dry_run: bool, agreed: bool) -> Ending:
    recipe = read_recipe(recipe_name)
    if dry_run:
        plan = decide(context, recipe)
        require_clear(plan, is_agreed=agreed)
        return Ending("no_change" if plan.is_no_change else "planned", f"{say_plan(plan)}; nothing was changed")
    if taken_up := take_up(context, recipe):
        return confirm(context, recipe, tasks.serve_on(context, taken_up))
    with held_host(context):
        finish_dead_switch(context)
        plan = decide(context, recipe)
        require_clear(plan, is_agreed=agreed)
        if plan.is_no_change:
            return Ending("no_change", f"{plan.from_release} serves this recipe already")
        stage_candidate(context, plan)
        return cut_over(context, recipe, plan)
