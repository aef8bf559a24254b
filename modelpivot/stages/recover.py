"""Bring a host back to its proved release: undo what a dead switch process left open, start the current release where it is down.

Runs at boot and by hand. A run that follows a switch does the first half itself.
"""

from collections.abc import Sequence

from modelpivot.errors import HostHeld
from modelpivot.host import own_process_id
from modelpivot.models.cutover import Cutover
from modelpivot.models.host import HostConfig
from modelpivot.stages.context import Context
from modelpivot.stages.standing_down import say_started, start_again
from modelpivot.stages.switch import follow_switch, holder_of, is_closed, launch_switch, switch_over
from modelpivot.state.cutovers import finish_closing, read_cutover, write_cutover
from modelpivot.state.lock import read_lock
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_book, read_current, read_release
from modelpivot.supervisors.choose import choose_supervisor


def recover(context: Context) -> Cutover | None:
    """The closed switch; None when there is nothing to do: the current release runs, or a living process carries a switch out. What was stopped
    by name is started again by this, and by nothing else that happens on its own.

    HostHeld when another run holds the host.
    """
    finish_closing(context.state)
    cutover = read_cutover(context.state)
    if cutover is None:
        return _start_current(context)
    if holder_of(cutover) is not None:
        return None
    launch_switch(context.host, context.state, _with_our_token(context, cutover), is_back=True)
    return follow_switch(context, cutover, until=is_closed)


def say_recovered(context: Context, again: Sequence[str]) -> str:
    """What it came to without a switch. `again`: what had been stopped by name and runs again."""
    if again:
        return say_started(again)
    if open_cutover := read_cutover(context.state):
        return f"process {open_cutover.switch.pid if open_cutover.switch else '?'} carries the open switch out: modelpivot watch shows it"
    book = read_book(context.state)
    return f"nothing is left open, and {book.current} runs" if book.current else "nothing is left open, and this host has no release yet"


def recover_at_boot(host: HostConfig, state: StatePaths) -> Cutover | None:
    """The open switch, handed to a process that takes it back and outlives this one; None: none is open. Its new release stays down from here on,
    where there is one to go back to.

    Runs before systemd starts any unit of ours; whatever it waited for would wait for it.
    """
    finish_closing(state)
    cutover = read_cutover(state)
    if cutover is None or holder_of(cutover) is not None:
        return None
    if cutover.from_release is not None and cutover.to_release != cutover.from_release:
        supervisor, new = choose_supervisor(host, state), read_release(state, cutover.to_release)
        supervisor.disable(new)
        supervisor.stop(new, timeout_s=new.deadlines.stop_s)
    launch_switch(host, state, cutover, is_back=True)
    return cutover


def _with_our_token(context: Context, cutover: Cutover) -> Cutover:
    """The switch, to be taken over by the lock that this process holds, if it holds one."""
    lock = read_lock(context.state)
    if lock is None or lock.token == cutover.lock_token:
        return cutover
    if lock.holder != own_process_id():
        raise HostHeld(f"this host is held by {lock.what} (process {lock.holder.pid})", hint="wait for it, then recover")
    cutover = cutover.model_copy(update={"lock_token": lock.token})
    write_cutover(context.state, cutover)
    return cutover


def _start_current(context: Context) -> Cutover | None:
    """The current release if it is down, then all that was stopped by name."""
    book = read_book(context.state)
    closed = None if book.is_current_stopped else _start_down(context)
    is_lost = closed is not None and closed.outcome != "promoted"
    return closed if is_lost or not book.stopped else start_again(context) or closed


def _start_down(context: Context) -> Cutover | None:
    current = read_current(context.state)
    if current is None or choose_supervisor(context.host, context.state).status(current).state == "running":
        return None
    return switch_over(context, to=current, frm=None)
