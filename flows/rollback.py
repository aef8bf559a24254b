"""Go back to what served before: what a cleanup stopped by name, else the release before. Needs no recipe, no Hub and no decision but this one."""

from prefect import State, flow

from flows import tasks
from flows.approval import ask
from flows.asking import about_rollback, about_starting_again
from flows.carry import Ending, carry_out
from flows.forms import HostBlock, name_run
from flows.queueing import is_deployed
from modelpivot.errors import PreconditionError, SwitchFailed
from modelpivot.stages.context import Context
from modelpivot.stages.rollback import is_rolled_back, read_pair, say_kept, say_rolled_back
from modelpivot.stages.standing_down import started_since
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.releases import read_book


@flow(name="rollback", flow_run_name=name_run)
def rollback(agreed: bool = False, host: HostBlock = None) -> State[None]:
    """Serve what served before: what a cleanup stopped by name, else the release before, by the same switch with the releases exchanged.

    Args:
        agreed: Yes, go back now; the model that serves stops for the minutes of the switch. Off: the run asks, and waits for the answer.
        host: The GPU host; left out, the worker's own.
    """

    def body(context: Context) -> Ending:
        if not agreed:
            _ask(context)
        stopped = read_book(context.state).stopped
        cutover = tasks.roll_back(context)
        if cutover is not None and not is_rolled_back(context, cutover):
            raise SwitchFailed(say_kept(cutover), step=cutover.phase, cause=cutover.cause)
        return Ending("rolled_back", say_rolled_back(cutover, started_since(context, stopped)))

    return carry_out("rollback", "rollback", host, None, body)


def _ask(context: Context) -> None:
    if not is_deployed():
        raise PreconditionError("a rollback changes what serves, and nobody agreed", hint="start it again with agreed switched on")
    if cutover := read_cutover(context.state):
        ask(context, about_rollback(cutover.to_release, cutover.from_release or "nothing"))
        return
    if stopped := read_book(context.state).stopped:
        ask(context, about_starting_again(stopped))
        return
    current, previous = read_pair(context.state)
    ask(context, about_rollback(current.id if current else None, previous.id))
