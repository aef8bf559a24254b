"""The run's side of a switch: write the intent, start the switch process, follow it. The other side is `carry_out`."""

import contextlib
import sys
import time
from collections.abc import Callable
from typing import Literal

from modelpivot.errors import CommandFailed, PivotError, PreconditionError, SwitchFailed
from modelpivot.facts.start_log import read_last_lines
from modelpivot.files import write_model
from modelpivot.host import is_alive
from modelpivot.models.cutover import Cutover, ProcessId, Trial
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.settings import to_environment
from modelpivot.stages.context import Context
from modelpivot.state.cutovers import ask_decision, attach_run, close_cutover, read_cutover, read_cutover_of_run, write_intent
from modelpivot.state.lock import acquire_lock, read_lock
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import new_run_id
from modelpivot.supervisors.choose import choose_supervisor
from modelpivot.waiting import WaitedTooLong, wait_for

TakeOver = Literal["took over", "closed", "ended", "starts"]
TAKE_OVER_S = 60.0
LET_GO_S = 10.0
MOST_DEATHS = 5
"""Switch processes of one switch that one follower starts anew."""
RIVAL_S = 2.0
"""Seconds in which another process that recovers the same switch may show itself."""


def start_switch(
    context: Context,
    *,
    to: Release,
    frm: Release | None,
    unconfirmed: Literal["return", "keep"] = "return",
    confirm: Literal["asked", "automatic"] = "asked",
    trial: Trial | None = None,
) -> Cutover:
    """Write the intent and start the switch process; returns when that holds the host's lock, or closed the intent already.

    HostHeld when another switch is open or another run holds the host; SwitchFailed when the process did not come up: nothing was touched.
    """
    state = context.state
    lock = acquire_lock(state, run_id=context.run.id, what=f"run {context.run.id}")
    now = time.time()
    cutover = Cutover(
        id=new_run_id("switch"),
        run_id=context.run.id,
        from_release=frm.id if frm else None,
        to_release=to.id,
        deadlines=to.deadlines,
        unconfirmed=unconfirmed,
        confirm=confirm,
        trial=trial,
        lock_token=lock.token,
        created_at=now,
        phase_since=now,
    )
    choose_supervisor(context.host, state).prepare(to)
    write_intent(state, cutover)
    try:
        attach_run(state, context.run.id)
        launch_switch(context.host, state, cutover)
    except (PivotError, OSError) as error:
        with contextlib.suppress(OSError):  # what cannot be closed goes forward no more once this run lets go of the host
            _close_untouched(state, cutover, str(getattr(error, "message", error)))
        raise
    return read_cutover_of_run(state, context.run.id) or cutover


def launch_switch(host: HostConfig, state: StatePaths, cutover: Cutover, *, is_back: bool = False) -> None:
    """Start the switch process and wait until it holds the lock or has closed the intent. SwitchFailed when it ends before that."""
    argv = [sys.executable, "-m", "modelpivot.cli.internal", "switch", cutover.id, *(["--back"] if is_back else [])]
    log = state.run(cutover.run_id).log("switch")
    process = choose_supervisor(host, state).start_switch(argv, env=to_environment(_with_absolute_paths(host)), log=log)

    def read() -> TakeOver:
        is_started = is_alive(process)
        now = read_cutover(state)
        if now is None or now.id != cutover.id:
            return "closed"
        if now.switch != cutover.switch and holder_of(now):
            return "took over"
        return "starts" if is_started else "ended"

    def judge(how: TakeOver, waited_s: float) -> TakeOver | None:
        return None if how == "starts" or (how == "ended" and waited_s < RIVAL_S) else how

    try:
        how = wait_for(read, judge, what="the switch process to take over", deadline_s=TAKE_OVER_S, interval_s=0.02)
    except WaitedTooLong as error:
        raise SwitchFailed(error.message, step="switch", cause=read_last_lines(log, 5)) from error
    if how == "ended":
        raise SwitchFailed("the switch process ended before it took over; it touched nothing", step="switch", cause=read_last_lines(log, 5))


def _with_absolute_paths(host: HostConfig) -> HostConfig:
    roots = ("weights_root", "environments_root", "state_dir")
    return host.model_copy(update={name: getattr(host, name).absolute() for name in roots})


def _close_untouched(state: StatePaths, cutover: Cutover, reason: str) -> None:
    """Close an intent whose process never came up; nothing to do when it did after all."""
    now = read_cutover(state)
    if now and now.id == cutover.id and now.switch is None:
        close_cutover(state, now.model_copy(update={"phase": "closed", "outcome": "not_started", "reason": reason}))


def join_switch(context: Context, to: Release) -> Cutover | None:
    """Carry the open switch to `to` on when the run that began it is dead; None when no switch is open.

    HostHeld when a living run carries it; PreconditionError when it goes to another release.
    """
    cutover = read_cutover(context.state)
    if cutover is None:
        return None
    if cutover.to_release != to.id or cutover.phase == "returning" or cutover.trial:
        raise PreconditionError(
            f"a switch from {cutover.from_release} to {cutover.to_release} is open ({cutover.phase})",
            hint="wait for it, or end it with `modelpivot promote` or `modelpivot rollback`",
        )
    attach_run(context.state, context.run.id)
    return cutover


def follow_switch(
    context: Context,
    cutover: Cutover,
    *,
    until: Callable[[Cutover], bool],
    is_stopping: Callable[[], bool] = lambda: False,
    interval_s: float = 0.1,
) -> Cutover:
    """The switch as soon as `until` holds for it, or as soon as it is closed.

    When `is_stopping` turns true the switch is asked to return, and followed to its end. A switch process that died is followed backwards:
    the recovery is started here. It never raises for what the switch decides: `outcome` tells. SwitchFailed when recovery dies again and again.
    """
    has_asked, deaths = False, 0

    def read() -> Cutover:
        nonlocal has_asked, deaths
        now, is_orphan = _look(context, cutover)
        if not has_asked and now.phase != "closed" and is_stopping():
            has_asked = True
            with contextlib.suppress(PreconditionError):  # closed in this very moment: its outcome is read next
                ask_decision(context.state, "return", reason=f"run {context.run.id} was interrupted")
        if is_orphan:
            deaths += 1
            _recover(context, now, deaths)
        return now

    followed = wait_for(
        read,
        lambda now, _: now if now.phase == "closed" or (until(now) and not has_asked) else None,
        what="the switch",
        deadline_s=float("inf"),
        interval_s=interval_s,
    )
    if followed.phase == "closed":
        _take_home(context, followed)
    return followed


def switch_over(context: Context, *, to: Release, frm: Release | None) -> Cutover:
    """A switch that needs nobody's word, followed to its end. PreconditionError when it did not begin: nothing was touched."""
    closed = follow_switch(context, start_switch(context, to=to, frm=frm, confirm="automatic"), until=is_closed)
    if closed.outcome == "not_started":
        raise PreconditionError(f"the switch did not begin: {closed.reason}", hint="nothing was touched; mend it, then say it again")
    return closed


def is_unconfirmed(cutover: Cutover) -> bool:
    """For `follow_switch`: the new release serves and waits for a decision."""
    return cutover.phase == "unconfirmed"


def is_closed(cutover: Cutover) -> bool:
    """For `follow_switch`: the switch is over."""
    return cutover.phase == "closed"


def _look(context: Context, cutover: Cutover) -> tuple[Cutover, bool]:
    """The switch, and whether nobody carries it out; it may be closed, or in other hands, between two looks."""
    now = _read(context, cutover)
    if now.phase == "closed" or not is_dead(context.state, now):
        return now, False
    again = _read(context, cutover)
    return again, again.phase != "closed" and is_dead(context.state, again)


def _read(context: Context, cutover: Cutover) -> Cutover:
    now = read_cutover(context.state)
    if now and now.id == cutover.id:
        return now
    closed = read_cutover_of_run(context.state, cutover.run_id)
    if closed is None or closed.id != cutover.id:
        raise SwitchFailed(f"the switch {cutover.id} is gone from {context.state.root}", hint="modelpivot status tells what serves")
    return closed


def _recover(context: Context, cutover: Cutover, deaths: int) -> None:
    if deaths > MOST_DEATHS:
        log = context.state.run(cutover.run_id).log("switch")
        raise SwitchFailed(
            f"the switch process died {deaths} times, the last time in phase {cutover.phase}",
            step="switch",
            cause=read_last_lines(log, 5),
            hint=f"mend what {log} says, then `modelpivot rollback`; modelpivot status tells what serves",
        )
    tell = context.journal.stage("switch")
    tell("warning", f"the switch process died in phase {cutover.phase}; going back")
    try:
        launch_switch(context.host, context.state, cutover, is_back=True)
    except (SwitchFailed, CommandFailed) as error:  # looked at again, and counted as a death more
        tell("warning", f"{error.message}; trying again")


def _take_home(context: Context, closed: Cutover) -> None:
    """Wait until the switch process let go of the lock, and keep a copy where this run began it not."""
    wait_for(
        lambda: closed.switch is not None and is_alive(closed.switch),
        lambda lives, waited_s: True if not lives or waited_s > LET_GO_S else None,
        what="the end of the switch process",
        deadline_s=LET_GO_S + 1,
        interval_s=0.02,
    )
    if closed.run_id != context.run.id:
        write_model(context.run.cutover, closed)


def is_dead(state: StatePaths, cutover: Cutover) -> bool:
    """Whether nobody carries the open switch out: its process is gone, or never came and the run that was to start it let go of the host."""
    if cutover.switch:
        return not is_alive(cutover.switch)
    lock = read_lock(state)
    return lock is None or lock.token != cutover.lock_token


def holder_of(cutover: Cutover) -> ProcessId | None:
    """The living process that carries the switch out; None when it is dead or was never there."""
    return cutover.switch if cutover.switch and is_alive(cutover.switch) else None
