"""What a new run does about a switch that an earlier one left open: take it up, have it finished backwards, or stand aside."""

from modelpivot.stages.recover import recover

from flows.stage import decide
from modelpivot.errors import HostHeld
from modelpivot.host import is_alive
from modelpivot.models.cutover import Cutover
from modelpivot.models.recipe import Recipe
from modelpivot.stages.context import Context
from modelpivot.state.cutovers import attach_run, read_cutover
from modelpivot.state.runs import is_run_alive


def take_up(context: Context, recipe: Recipe) -> bool:
    """Whether an open, living switch to this recipe's candidate is now followed by this run. HostHeld when it is another's."""
    cutover = read_cutover(context.state)
    if cutover is None or not is_switch_alive(cutover):
        return False
    if is_run_alive(context.state.run(cutover.run_id)):
        raise HostHeld(
            f"run {cutover.run_id} carries a switch to {cutover.to_release} ({cutover.phase})", hint="wait for it (modelpivot watch)"
        )
    candidate = decide(context, recipe).candidate
    if candidate is None or candidate.id != cutover.to_release:
        hint = "promote it, or go back first (modelpivot promote, modelpivot rollback)"
        raise HostHeld(
            f"a switch to {cutover.to_release} is open ({cutover.phase}), which is not what {recipe.name} would serve", hint=hint
        )
    attach_run(context.state, context.run.id)
    context.journal("log", f"taking up the switch that run {cutover.run_id} left", cutover=cutover.id, cutover_run=cutover.run_id)
    return True


def recover_dead_switch(context: Context) -> None:
    """Finish a switch backwards whose process is gone; nothing to do without one."""
    cutover = read_cutover(context.state)
    if cutover and not is_switch_alive(cutover):
        context.journal("warning", f"the switch to {cutover.to_release} died ({cutover.phase}); going back to {cutover.from_release} first")
        recover(context.host, context.state)


def is_switch_alive(cutover: Cutover) -> bool:
    """Whether the process that carries the switch out still runs."""
    return cutover.switch is not None and is_alive(cutover.switch)
