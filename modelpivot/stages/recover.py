"""Finish, backwards, what a dead switch process left open. Runs at boot, by hand, and by a run that follows a switch."""

from modelpivot.errors import HostHeld
from modelpivot.host import own_process_id
from modelpivot.models.cutover import Cutover
from modelpivot.stages.context import Context
from modelpivot.stages.switch import follow_switch, holder_of, is_closed, launch_switch
from modelpivot.state.cutovers import read_cutover, write_cutover
from modelpivot.state.lock import read_lock


def recover(context: Context) -> Cutover | None:
    """The closed switch; None when none is open, or a living process carries it out. HostHeld when another run holds the host."""
    cutover = read_cutover(context.state)
    if cutover is None or holder_of(cutover) is not None:
        return None
    lock = read_lock(context.state)
    if lock is not None and lock.holder != own_process_id():
        raise HostHeld(f"this host is held by {lock.what} (process {lock.holder.pid})", hint="it carries the open switch; wait for it")
    if lock is not None and lock.token != cutover.lock_token:
        cutover = cutover.model_copy(update={"lock_token": lock.token})
        write_cutover(context.state, cutover)
    launch_switch(context.host, context.state, cutover, is_back=True)
    return follow_switch(context, cutover, until=is_closed)
