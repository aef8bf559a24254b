"""What the switch process does: one release stopped, another started and proved, kept when somebody confirms it, taken back otherwise.

Needs the state folder and the releases, and nothing else: no Prefect, no network beside loopback, no recipe.
"""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from modelpivot.benchmark.client import Client
from modelpivot.errors import HostHeld, PivotError, SwitchFailed
from modelpivot.host import own_process_id
from modelpivot.models.cutover import Cutover, Outcome
from modelpivot.models.event import Kind
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.stages.bring_up import bring_up
from modelpivot.stages.confirm import settle, wait_for_decision
from modelpivot.stages.drain import drain
from modelpivot.stages.going_back import go_back, leave_a_host_that_stops, make_current, undo
from modelpivot.stages.hand import Hand
from modelpivot.stages.stop import name_blockers, prove_free, stop
from modelpivot.stages.trying import try_on, watched_endpoints
from modelpivot.stages.warm import warm
from modelpivot.state.cutovers import close_cutover, read_cutover
from modelpivot.state.lock import read_lock, release_lock, take_over_lock
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_release, record_proved
from modelpivot.supervisors.choose import choose_supervisor


def carry_out(host: HostConfig, state: StatePaths, cutover_id: str, *, is_back: bool = False) -> Cutover | None:
    """Carry the open switch out, or undo what an earlier process began of it (always with `is_back`). The closed switch; None: it is not ours to do.

    HostHeld when it is half done and somebody else holds the host: to be tried again.
    """
    with _sole_switch(state) as is_sole:
        cutover = read_cutover(state) if is_sole else None
        if cutover is None or cutover.id != cutover_id:
            return None
        # systemd starts a switch that died again with the words it was first started with
        is_back = is_back or cutover.switch is not None
        try:
            _take_host(state, cutover, is_back=is_back)
        except HostHeld as error:
            return _refuse(state, cutover, error)
        try:
            return _carry_out_alone(host, state, cutover, is_back=is_back)
        finally:
            with contextlib.suppress(OSError):
                release_lock(state)


def _take_host(state: StatePaths, cutover: Cutover, *, is_back: bool) -> None:
    """HostHeld when another run holds the host; forward also when the run that asked for it does not hold it any more: what it asked for may be long ago.

    A disk that takes no more does not keep anybody from the way back.
    """
    if not is_back and read_lock(state) is None:
        raise HostHeld("the run that asked for this switch let go of the host before it began", hint="nothing was changed; run it again")
    try:
        take_over_lock(state, token=cutover.lock_token, run_id=cutover.run_id, what=f"switch to {cutover.to_release}")
    except OSError:
        if not is_back:
            raise


@contextlib.contextmanager
def _sole_switch(state: StatePaths) -> Iterator[bool]:
    """True for the one switch process of this host; the kernel lets go of it when the process dies."""
    handle = _open_guard(state.switch_guard)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


def _open_guard(path: Path) -> int:
    """Also on a disk that turned read-only."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _refuse(state: StatePaths, cutover: Cutover, error: HostHeld) -> Cutover:
    """The host is not to be had: an intent that touched nothing is closed, one that did waits for it."""
    if cutover.phase != "intended":
        raise error
    closed = cutover.model_copy(update={"phase": "closed", "phase_since": time.time(), "outcome": "not_started", "reason": error.message})
    close_cutover(state, closed)
    return closed


def _carry_out_alone(host: HostConfig, state: StatePaths, cutover: Cutover, *, is_back: bool) -> Cutover:
    frm = read_release(state, cutover.from_release) if cutover.from_release else None
    to = read_release(state, cutover.to_release)
    endpoints = watched_endpoints(state, cutover, frm, to)
    is_down = is_back and cutover.phase not in ("intended", "warming", "draining", "unconfirmed")
    client = Client(endpoints, earlier=cutover.lost, is_down=is_down, state=state)
    hand = Hand(state, cutover, choose_supervisor(host, state), client)
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, lambda *_: _be_told_to_end(hand))
    hand.rewrite(switch=own_process_id())
    began = time.monotonic()
    hand.tell("switch", "started", f"from {cutover.from_release or 'nothing'} to {to.id}" + (", backwards" if is_back else ""))
    client.start()
    outcome, reason = undo(hand, frm, to) if is_back else _switch(hand, frm, to)
    return _close(hand, outcome, reason, time.monotonic() - began)


def _be_told_to_end(hand: Hand) -> None:
    """SIGTERM, SIGINT, SIGHUP: go back. SIGPIPE is nothing to a Python."""
    leave_a_host_that_stops(hand)
    hand.is_signalled.set()


def _switch(hand: Hand, frm: Release | None, to: Release) -> tuple[Outcome, str]:
    """Forward, and back when anything at all goes wrong."""
    if blockers := name_blockers(hand.supervisor, frm, to):
        return "not_started", "; ".join(blockers)
    try:
        hand.take_reserve()
    except OSError as error:
        return "not_started", f"the disk of {hand.state.root} has no room for the way back: {error.strerror}; free some"
    try:
        return "promoted", _go_forward(hand, frm, to)
    except PivotError as error:
        why = error
    except Exception as error:  # noqa: BLE001 - whatever it is, the old release must come back
        why = SwitchFailed(f"internal error: {type(error).__name__}: {error}")
    up = to if hand.cutover.to_release == to.id else read_release(hand.state, hand.cutover.to_release)
    return go_back(hand, frm, up, why)


def _go_forward(hand: Hand, frm: Release | None, to: Release) -> str:
    """The way of a switch, one step after another; what stays to be said about it."""
    hand.enter("warming")
    warm(hand, frm, to)
    hand.enter("draining")
    if frm is not None:
        drain(hand, frm)
        hand.enter("stopping")
        stop(hand, frm)
    hand.enter("freeing")
    if not hand.is_at_gate(to):
        hand.supervisor.stop(to, timeout_s=to.deadlines.stop_s)
    prove_free(hand, frm, to)
    bring_up(hand, to)
    record_proved(hand.state, to.id)
    settle(hand)
    if hand.cutover.trial:
        try_on(hand, to, hand.cutover.trial)
    reason = wait_for_decision(hand, to)
    make_current(hand, to, frm)
    return reason


def _close(hand: Hand, outcome: Outcome, reason: str, seconds: float) -> Cutover:
    """Tell how it ended, and move the switch to its run."""
    hand.free_reserve()
    lost = hand.client.stop()
    closed = hand.cutover.model_copy(
        update={"phase": "closed", "phase_since": time.time(), "outcome": outcome, "reason": reason, "lost": lost}
    )
    is_end_of_trial = hand.cutover.trial is not None and outcome == "returned" and not hand.cutover.failed_step
    kind: Kind = "finished" if outcome == "promoted" or is_end_of_trial else "failed"
    counted = {"lost_requests": lost.lost_requests, "downtime_s": round(lost.downtime_s, 3)}
    hand.tell("switch", kind, f"{outcome}{': ' + reason if reason else ''}", seconds=round(seconds, 3), **counted)
    try:
        close_cutover(hand.state, closed)
    except OSError as error:
        hand.tell("switch", "warning", f"it is over, and that cannot be written down: {error}")
    return closed
