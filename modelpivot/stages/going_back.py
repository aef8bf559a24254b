"""The way back of a switch: what is undone, and what stands. The same steps as forward, with the releases exchanged."""

import os
import signal
import time

from modelpivot.errors import PivotError, SwitchFailed
from modelpivot.models.cutover import UNTOUCHED, Outcome
from modelpivot.models.frozen import Unread
from modelpivot.models.release import Release
from modelpivot.plans.wait import name_obstacles
from modelpivot.stages.bring_up import bring_up
from modelpivot.stages.confirm import settle
from modelpivot.stages.drain import drain
from modelpivot.stages.hand import AskedToReturn, Hand
from modelpivot.stages.stop import prove_free, read_free, stop
from modelpivot.stages.warm import warm
from modelpivot.stages.wreck import describe_wreck
from modelpivot.state.cutovers import read_decision
from modelpivot.state.releases import is_current, is_proved, record_current

TRIES_BACK = 2
WARM_BACK_S = 60.0
"""Seconds for preparing the old release's start while the new one still serves: who asked for the way back, or a window that ends, waits for it."""


def undo(hand: Hand, frm: Release | None, to: Release) -> tuple[Outcome, str]:
    """What a dead switch process began is taken back; a promotion that was already written stands."""
    if _is_all_there_is(hand, frm, to):
        return _bring_up_again(hand, to)
    if hand.cutover.phase in UNTOUCHED:
        _end_waiting(hand, frm, to)
        return "not_started", "the switch process died before it touched what serves"
    if stands := _name_why_it_stands(hand, frm, to):
        make_current(hand, to, frm)
        return "promoted", stands
    return go_back(hand, frm, to, SwitchFailed(hand.cutover.reason or f"the switch process died in phase {hand.cutover.phase}"))


def _is_all_there_is(hand: Hand, frm: Release | None, to: Release) -> bool:
    """Whether there is nothing to go back to, and the one that was started is current or proved: it is to serve, whatever died or booted meanwhile."""
    if frm is not None or hand.cutover.trial or _is_unwanted(hand):
        return False
    return is_current(hand.state, to.id) or (hand.cutover.phase not in UNTOUCHED and is_proved(hand.state, to.id))


def _bring_up_again(hand: Hand, to: Release) -> tuple[Outcome, str]:
    """As it runs, or started anew; proved again before it is called current. A disk that takes no more does not keep it from that."""
    hand.rewrite(phase="returning", phase_since=time.time())
    try:
        bring_up(hand, to)
    except PivotError as error:
        return go_back(hand, None, to, error)
    settle(hand)
    make_current(hand, to, None)
    return "promoted", f"the switch process died; {to.id} answers, and nothing served before"


def _is_unwanted(hand: Hand) -> bool:
    decision = read_decision(hand.state, hand.cutover.id)
    return decision is not None and decision.decision == "return"


def _end_waiting(hand: Hand, frm: Release | None, to: Release) -> None:
    """An engine ends at its gate when its switch does; here that is waited for."""
    if to != frm:
        hand.supervisor.stop(to, timeout_s=to.deadlines.stop_s)


def _name_why_it_stands(hand: Hand, frm: Release | None, to: Release) -> str:
    """Why the new release is kept though its switch process died; empty: it is not."""
    if hand.supervisor.status(to).state != "running" or hand.cutover.trial:
        return ""
    return "the switch process died after it had promoted" if frm != to and is_current(hand.state, to.id) else ""


def go_back(hand: Hand, frm: Release | None, to: Release, why: PivotError) -> tuple[Outcome, str]:
    """The same steps with the releases exchanged, twice if need be. Whatever happens, what it ends in is said."""
    cause = list(getattr(why, "cause", ())) or list(getattr(why, "last_lines", ()))
    has_time = isinstance(why, AskedToReturn) and hand.cutover.phase == "unconfirmed" and not hand.is_signalled.is_set()
    hand.free_reserve()
    hand.close_gate()
    hand.client.resume()
    step = getattr(why, "step", "") or next((it.name for it in reversed(hand.cutover.steps[-1:]) if it.result == "failed"), "")
    hand.rewrite(phase="returning", phase_since=time.time(), reason=why.message, cause=cause or hand.cutover.cause, failed_step=step)
    hand.tell("switch", "warning", f"going back: {why.message}")
    if frm is not None and has_time:
        _prepare_back(hand, frm, to)
    problems: list[str] = []
    for attempt in range(TRIES_BACK):
        leave_a_host_that_stops(hand)
        try:
            stop(hand, to, name="stop new", has_answered=_has_answered(hand, to))
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
            make_current(hand, frm, to)
            return "returned", why.message + doubt
    leave_a_host_that_stops(hand)
    return "nothing_serves", describe_wreck(hand, frm, to, why, problems)


def _prepare_back(hand: Hand, frm: Release, to: Release) -> None:
    """The new one serves and is only unwanted: as on the way forward, what can be done before its stop is done before, and it is drained. The way back
    goes on without all of that."""
    try:
        # a trial has set `stop_s` aside for its end
        warm(hand, to, frm, within_s=min(WARM_BACK_S, frm.deadlines.stop_s / 2) if hand.cutover.trial else WARM_BACK_S)
        drain(hand, to)
    except Exception as error:  # noqa: BLE001 - whatever it is, it costs speed alone
        hand.close_gate()
        hand.tell("warm", "warning", f"{frm.id} will be started plain: {getattr(error, 'message', error)}", release=frm.id)


def _has_answered(hand: Hand, to: Release) -> bool:
    """False: it was started in this switch and did not become ready since; nobody can wait for an answer of it."""
    last = next((step for step in reversed(hand.cutover.steps) if step.release == to.id and step.name in ("serve", "ready")), None)
    return last is None or (last.name == "ready" and last.result == "done")


def _bring_back(hand: Hand, frm: Release, to: Release, *, is_last: bool) -> str:
    """Start the old release; what has to be said of it. In the last attempt it is stopped first, started although its place is not measured free, and
    stays up when it generates, whatever its probe says."""
    if is_last or _is_left_at_gate(hand, frm):
        hand.close_gate()
        stop(hand, frm)
    doubt = _make_place(hand, frm, to, is_last=is_last)
    try:
        bring_up(hand, frm)
    except SwitchFailed as error:
        if not is_last or error.step != "probe" or hand.supervisor.status(frm).state != "running":
            raise
        return f"{doubt}; {frm.id} serves again, but not as it was proved: {error.message}"
    return doubt


def _is_left_at_gate(hand: Hand, frm: Release) -> bool:
    """Whether a switch that died on its way back had it at its gate: it ends there by itself, sooner or later, and must not be taken for one that
    serves."""
    return not hand.is_at_gate(frm) and hand.state.release(frm.id).gate.exists()


def _make_place(hand: Hand, frm: Release, to: Release, *, is_last: bool) -> str:
    """What is not measured free in the last attempt: memory comes back late, a driver says nothing, and an engine's unit goes on trying by itself.
    SwitchFailed when another attempt follows, or somebody holds the port: then it could not answer."""
    try:
        prove_free(hand, to, frm)
    except SwitchFailed:
        fact = read_free(hand.supervisor, to, frm)
        if not is_last or (not isinstance(fact.holders, Unread) and fact.holders):
            raise
        doubt = f"{frm.id} was started although {'; '.join(name_obstacles(fact)) or 'its place was free late'}"
        hand.tell("prove free", "warning", doubt, release=frm.id)
        return f"; {doubt}"
    return ""


def make_current(hand: Hand, stays: Release, goes: Release | None) -> None:
    """Written first, then made to last over a boot: at any moment between, one of the two is started at boot, and an open switch goes back."""
    try:
        record_current(hand.state, stays.id)
    except OSError as error:
        if not hand.is_returning:
            raise
        hand.tell("switch", "warning", f"{stays.id} serves, and that cannot be written down: {error}", release=stays.id)
    try:
        hand.supervisor.enable(stays)
        if goes is not None and goes != stays:
            hand.supervisor.disable(goes)
    except PivotError as error:
        hand.tell("switch", "warning", f"{stays.id} serves, and may not after a boot: {error.message}", release=stays.id)


def leave_a_host_that_stops(hand: Hand) -> None:
    """When the machine goes down engines are ended around us and nothing can be started: what is open stays so, and the boot unit takes it back."""
    if hand.supervisor.is_host_stopping():
        os._exit(128 + signal.SIGTERM)
