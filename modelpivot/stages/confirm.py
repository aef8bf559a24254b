"""An unconfirmed release: it serves, and somebody must say that it stays. Called by the switch."""

import contextlib
import time
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeVar

from modelpivot.errors import SwitchFailed
from modelpivot.facts.readiness import Ladder, read_ready
from modelpivot.facts.start_log import read_start_log
from modelpivot.models.cutover import Decision
from modelpivot.models.frozen import Frozen
from modelpivot.models.release import Release
from modelpivot.stages.hand import AskedToReturn, Hand
from modelpivot.state.cutovers import read_decision
from modelpivot.supervisors.process import read_api_key
from modelpivot.waiting import WaitedTooLong, wait_for

T = TypeVar("T")
LOOK_EVERY_S = 5.0
"""Pause between two looks; nobody asked in it, so it is no silence of the engine's."""
SETTLE_S = 5.0
"""Seconds for the client to see the new release answer; the switch does not depend on it."""


class Unconfirmed(Frozen):
    """One look while nobody has decided."""

    is_alive: bool
    silent_s: float
    """Seconds for which it was asked, and did not generate."""
    asked: Decision | None

    def __str__(self) -> str:
        return "no decision"


def wait_for_decision(hand: Hand, release: Release) -> str:
    """Returns when the release shall stay: empty when somebody said so, otherwise why it stays all the same.

    AskedToReturn when it shall not, or nobody said; SwitchFailed when the engine dies or answers nothing for `probe_s`.
    """
    if hand.cutover.confirm == "automatic":
        return ""
    confirm_s = hand.cutover.deadlines.confirm_s
    if hold(hand, release, confirm_s, partial(_judge_promotion, confirm_s)) == "stays":
        return ""
    silence = f"nobody confirmed {release.id} within {confirm_s:g} s"
    if hand.cutover.stays_unconfirmed:
        why = "as the recipe says" if hand.cutover.unconfirmed == "keep" else "since nothing served before"
        return f"{silence}; it was kept, {why}"
    raise AskedToReturn(silence)


def hold(hand: Hand, release: Release, seconds: float, judge: Callable[[Decision | None, float], T | None]) -> T:
    """Keep the release up, unconfirmed for so long, until `judge` makes something of what is asked and the seconds waited."""
    hand.check()
    hand.rewrite(phase="unconfirmed", phase_since=time.time(), confirm_by=time.time() + seconds)
    hand.tell("switch", "log", f"{release.id} serves, unconfirmed for {seconds:.0f} s", confirm_by=hand.cutover.confirm_by)
    hand.client.pause()
    key = read_api_key(release)
    asked = hand.state.asked(release.endpoint.port)
    ladder = Ladder(lambda: read_ready(release, key, lambda: hand.supervisor.processes(release), asked=asked), pause_s=LOOK_EVERY_S)
    try:
        return _watch(hand, release, ladder, seconds, judge)
    finally:
        ladder.close()
        hand.client.resume()


def _judge_promotion(confirm_s: float, asked: Decision | None, waited_s: float) -> Literal["stays", "nobody"] | None:
    if asked and asked.decision == "promote":
        return "stays"
    return "nobody" if waited_s >= confirm_s else None


def _watch(hand: Hand, release: Release, ladder: Ladder, seconds: float, judge: Callable[[Decision | None, float], T | None]) -> T:
    began = time.monotonic()

    def read() -> Unconfirmed:
        is_alive = hand.supervisor.status(release).state == "running"
        asked_at = began if ladder.last_ready_at is None else ladder.last_ready_at + LOOK_EVERY_S
        silent_s = max(0.0, time.monotonic() - asked_at)
        return Unconfirmed(is_alive=is_alive, silent_s=silent_s, asked=read_decision(hand.state, hand.cutover.id))

    def judge_whole(fact: Unconfirmed, waited_s: float) -> T | None:
        if not fact.is_alive:
            cause = read_start_log(hand.supervisor.log_path(release)).cause
            raise SwitchFailed("the engine ended while it was unconfirmed", step="confirm", cause=cause)
        if fact.silent_s > release.deadlines.probe_s:
            raise SwitchFailed(f"the engine generated nothing for {fact.silent_s:.0f} s while it was unconfirmed", step="confirm")
        return judge(fact.asked, waited_s)

    return hand.wait(read, judge_whole, step="confirm", what="a decision", deadline_s=seconds + 1)


def settle(hand: Hand) -> None:
    """Wait a little until the client has seen the release answer, so that the downtime has its end."""
    with contextlib.suppress(WaitedTooLong):
        wait_for(
            lambda: hand.client.is_down,
            lambda is_down, _: not is_down or None,
            what="the client's next answer",
            deadline_s=SETTLE_S,
            interval_s=0.02,
        )
