"""What the switch process does: one release stopped, another started and proved, kept when somebody confirms it, taken back otherwise.

Needs the state folder and the releases, and nothing else: no Prefect, no network beside loopback, no recipe.
"""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator

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
from modelpivot.stages.hand import AskedToReturn, Hand
from modelpivot.stages.stop import name_blockers, prove_free, stop
from modelpivot.stages.trying import try_on, watched_endpoints
from modelpivot.stages.warm import warm
from modelpivot.stages.wreck import describe_wreck
from modelpivot.state.cutovers import close_cutover, read_cutover, read_decision
from modelpivot.state.lock import release_lock, take_over_lock
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import is_current, read_release, record_current, record_proved
from modelpivot.supervisors.choose import choose_supervisor

TRIES_BACK = 2


def carry_out(host: HostConfig, state: StatePaths, cutover_id: str, *, is_back: bool = False) -> Cutover | None:
    """Carry the open switch out, or undo what an earlier process began of it (always with `is_back`). The closed switch; None: it is not ours to do."""
    with _sole_switch(state) as is_sole:
        cutover = read_cutover(state) if is_sole else None
        if cutover is None or cutover.id != cutover_id:
            return None
        # systemd starts a switch that died again with the words it was first started with
        is_back = is_back or cutover.switch is not None
        try:
            take_over_lock(state, token=cutover.lock_token, run_id=cutover.run_id, what=f"switch to {cutover.to_release}")
        except HostHeld as error:
            return _refuse(state, cutover, error)
        try:
            return _carry_out_alone(host, state, cutover, is_back=is_back)
        finally:
            release_lock(state)


@contextlib.contextmanager
def _sole_switch(state: StatePaths) -> Iterator[bool]:
    """True for the one switch process of this host; the kernel lets go of it when the process dies."""
    handle = os.open(state.switch_guard, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


def _refuse(state: StatePaths, cutover: Cutover, error: HostHeld) -> Cutover | None:
    """Somebody else holds the host: an intent that touched nothing is closed, one that did waits for them."""
    if cutover.phase != "intended":
        return None
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
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda *_: _be_told_to_end(hand))
    hand.rewrite(switch=own_process_id())
    began = time.monotonic()
    hand.tell("switch", "started", f"from {cutover.from_release or 'nothing'} to {to.id}" + (", backwards" if is_back else ""))
    client.start()
    outcome, reason = _undo(hand, frm, to) if is_back else _switch(hand, frm, to)
    return _close(hand, outcome, reason, time.monotonic() - began)


def _be_told_to_end(hand: Hand) -> None:
    """SIGTERM: go back."""
    _leave_a_host_that_stops(hand)
    hand.is_signalled.set()


def _leave_a_host_that_stops(hand: Hand) -> None:
    """When the machine goes down engines are ended around us and nothing can be started: what is open stays so, and the boot unit takes it back."""
    if hand.supervisor.is_host_stopping():
        os._exit(128 + signal.SIGTERM)


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
    except AskedToReturn as error:
        why: PivotError = SwitchFailed(error.message)
    except PivotError as error:
        why = error
    except Exception as error:  # noqa: BLE001 - whatever it is, the old release must come back
        why = SwitchFailed(f"internal error: {type(error).__name__}: {error}")
    up = to if hand.cutover.to_release == to.id else read_release(hand.state, hand.cutover.to_release)
    return _go_back(hand, frm, up, why)


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
    _make_current(hand, to, frm)
    return reason


def _make_current(hand: Hand, stays: Release, goes: Release | None) -> None:
    """Written first, then made to last over a boot: at any moment between, one of the two is started at boot, and an open switch goes back."""
    record_current(hand.state, stays.id)
    try:
        hand.supervisor.enable(stays)
        if goes is not None and goes != stays:
            hand.supervisor.disable(goes)
    except PivotError as error:
        hand.tell("switch", "warning", f"{stays.id} serves, and may not after a boot: {error.message}", release=stays.id)


def _undo(hand: Hand, frm: Release | None, to: Release) -> tuple[Outcome, str]:
    """What a dead switch process began is taken back; a promotion that was already written stands."""
    if hand.cutover.phase in ("intended", "warming"):
        _end_waiting(hand, frm, to)
        return "not_started", "the switch process died before it touched what serves"
    if stands := _name_why_it_stands(hand, frm, to):
        _make_current(hand, to, frm)
        return "promoted", stands
    return _go_back(hand, frm, to, SwitchFailed(hand.cutover.reason or f"the switch process died in phase {hand.cutover.phase}"))


def _end_waiting(hand: Hand, frm: Release | None, to: Release) -> None:
    """An engine ends at its gate when its switch does; here that is waited for."""
    if to != frm:
        hand.supervisor.stop(to, timeout_s=to.deadlines.stop_s)


def _name_why_it_stands(hand: Hand, frm: Release | None, to: Release) -> str:
    """Why the new release is kept though its switch process died; empty: it is not."""
    if hand.supervisor.status(to).state != "running" or hand.cutover.trial:
        return ""
    if frm != to and is_current(hand.state, to.id):
        return "the switch process died after it had promoted"
    decision = read_decision(hand.state, hand.cutover.id)
    is_unwanted = decision is not None and decision.decision == "return"
    if frm is None and hand.cutover.phase == "unconfirmed" and not is_unwanted:
        return f"the switch process died; {to.id} was proved, and nothing served before"
    return ""


def _go_back(hand: Hand, frm: Release | None, to: Release, why: PivotError) -> tuple[Outcome, str]:
    """The same steps with the releases exchanged, twice if need be. Whatever happens, what it ends in is said."""
    cause = list(getattr(why, "cause", ())) or list(getattr(why, "last_lines", ()))
    hand.free_reserve()
    hand.close_gate()
    hand.client.resume()
    step = getattr(why, "step", "") or next((it.name for it in reversed(hand.cutover.steps[-1:]) if it.result == "failed"), "")
    hand.rewrite(phase="returning", phase_since=time.time(), reason=why.message, cause=cause or hand.cutover.cause, failed_step=step)
    hand.tell("switch", "warning", f"going back: {why.message}")
    problems: list[str] = []
    for attempt in range(TRIES_BACK):
        _leave_a_host_that_stops(hand)
        try:
            stop(hand, to, name="stop new")
            if hand.cutover.is_beside:
                prove_free(hand, None, to)
                return "returned", why.message
            if frm is None:
                return "nothing_serves", f"{why.message}; nothing served before either, {to.id} was stopped"
            doubt = _bring_back(hand, frm, to, is_last=attempt == TRIES_BACK - 1)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is tried once more and then said
            problems.append(str(getattr(error, "message", error)))
            hand.tell("switch", "warning", f"the way back, attempt {attempt + 1} of {TRIES_BACK}: {problems[-1]}")
        else:
            settle(hand)
            _make_current(hand, frm, to)
            return "returned", why.message + doubt
    _leave_a_host_that_stops(hand)
    return "nothing_serves", describe_wreck(hand, frm, to, why, problems)


def _bring_back(hand: Hand, frm: Release, to: Release, *, is_last: bool) -> str:
    """Start the old release; what has to be said of it. In the last attempt a release that generates stays up, whatever its probe says."""
    if is_last:
        stop(hand, frm)
    prove_free(hand, to, frm)
    try:
        bring_up(hand, frm)
    except SwitchFailed as error:
        if not is_last or error.step != "probe" or hand.supervisor.status(frm).state != "running":
            raise
        return f"; {frm.id} serves again, but not as it was proved: {error.message}"
    return ""


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
    close_cutover(hand.state, closed)
    return closed
