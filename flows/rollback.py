"""Go back to the release that served before. Needs no recipe, no Hub and no decision but this one."""

from prefect import State, flow

from flows import tasks
from flows.approval import ask
from flows.asking import about_rollback
from flows.carry import Ending, carry_out
from flows.forms import HostBlock, name_run
from flows.queueing import is_deployed
from modelpivot.errors import PreconditionError, SwitchFailed
from modelpivot.stages.context import Context
from modelpivot.stages.rollback import read_pair
from modelpivot.state.cutovers import read_cutover


@flow(name="rollback", flow_run_name=name_run)
def rollback(agreed: bool = False, host: HostBlock = None) -> State[None]:
    """Serve the release that served before: the same switch with the releases exchanged. Both stay on disk.

    Args:
        agreed: Yes, go back now; the model that serves stops for the minutes of the switch. Off: the run asks, and waits for the answer.
        host: The GPU host; left out, the worker's own.
    """

    def body(context: Context) -> Ending:
        if not agreed:
            _ask(context)
        cutover = tasks.roll_back(context)
        if cutover.outcome not in ("promoted", "returned"):
            raise SwitchFailed(cutover.reason, step=cutover.phase, cause=cutover.cause)
        return Ending("promoted", f"{cutover.to_release if cutover.outcome == 'promoted' else cutover.from_release} serves again")

    return carry_out("rollback", "rollback", host, None, body)


def _ask(context: Context) -> None:
    if not is_deployed():
        raise PreconditionError("a rollback changes what serves, and nobody agreed", hint="start it again with agreed switched on")
    if cutover := read_cutover(context.state):
        ask(context, about_rollback(cutover.to_release, cutover.from_release or "nothing"))
        return
    current, previous = read_pair(context.state)
    ask(context, about_rollback(current.id if current else None, previous.id))
