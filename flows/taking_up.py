"""What a new run does about a switch that an earlier one left open: take it up, or have it finished backwards first."""

from flows.stage import decide
from modelpivot.models.cutover import Cutover
from modelpivot.models.recipe import Recipe
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_clear
from modelpivot.stages.recover import recover
from modelpivot.stages.switch import holder_of, join_switch
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import acquire_lock


def take_up(context: Context, recipe: Recipe) -> Cutover | None:
    """The open, living switch to this recipe's candidate, followed by this run from now on; None without one.

    HostHeld when a living run carries it, PreconditionError when it goes to another release.
    """
    cutover = read_cutover(context.state)
    if cutover is None or holder_of(cutover) is None:
        return None
    plan = decide(context, recipe)
    if plan.candidate is None:
        require_clear(plan, is_agreed=True)
        return None
    joined = join_switch(context, plan.candidate)
    if joined:
        message = f"taking up the switch that run {joined.run_id} left: {joined.phase}"
        context.journal("log", message, cutover=joined.id, cutover_run=joined.run_id)
    return joined


def finish_dead_switch(context: Context) -> None:
    """Finish, backwards, a switch whose process is gone, and hold the host again; nothing to do without one."""
    cutover = read_cutover(context.state)
    if cutover and holder_of(cutover) is None:
        context.journal(
            "warning", f"the switch to {cutover.to_release} died in phase {cutover.phase}; going back to {cutover.from_release} first"
        )
        recover(context)
        acquire_lock(context.state, run_id=context.run.id, what=f"run {context.run.id}")
