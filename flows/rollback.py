"""Go back to the release that served before. Needs no recipe, no Hub and no decision but this one."""

from prefect import State, flow

from flows import tasks
from flows.carry import Ending, carry_out
from flows.forms import HostBlock, name_run
from modelpivot.errors import PreconditionError, SwitchFailed
from modelpivot.stages.context import Context


@flow(name="rollback", flow_run_name=name_run)
def rollback(agreed: bool = False, host: HostBlock = None) -> State[None]:
    """Serve the release that served before: the same switch with the releases exchanged. Both stay on disk.

    Args:
        agreed: Yes, go back now; the model that serves stops for the minutes of the switch.
        host: The GPU host; left out, the worker's own.
    """

    def body(context: Context) -> Ending:
        if not agreed:
            raise PreconditionError("a rollback changes what serves, and nobody agreed", hint="start it again with agreed switched on")
        cutover = tasks.roll_back(context)
        if cutover.outcome not in ("promoted", "returned"):
            raise SwitchFailed(cutover.reason, step=cutover.phase, cause=cutover.cause)
        return Ending("promoted", f"{cutover.to_release if cutover.outcome == 'promoted' else cutover.from_release} serves again")

    return carry_out("rollback", "rollback", host, None, body)
