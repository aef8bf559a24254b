"""A trial, the switch's side: one release after another is brought up as the run asks, until somebody or the time says that it is enough.

It ends by AskedToReturn or SwitchFailed alone: the way back is that of every switch.
"""

import time
from typing import NoReturn

from modelpivot.models.cutover import Cutover, Decision, Trial
from modelpivot.models.release import Endpoint, Release
from modelpivot.stages.bring_up import bring_up
from modelpivot.stages.confirm import hold
from modelpivot.stages.hand import Hand
from modelpivot.stages.stop import prove_free, stop
from modelpivot.state.cutovers import forget_decision
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_current, read_release, record_proved


def try_on(hand: Hand, release: Release, trial: Trial) -> NoReturn:
    """Hold up what was brought up, and exchange it for what is asked for next."""
    while True:
        trial = trial.model_copy(update={"starts": trial.starts + 1})
        hand.rewrite(trial=trial)
        wish = hold(hand, release, max(1.0, trial.turn_at - time.time()), _judge_wish)
        release = _exchange(hand, release, read_release(hand.state, wish.release or release.id))


def watched_endpoints(state: StatePaths, cutover: Cutover, frm: Release | None, to: Release) -> list[Endpoint]:
    """Where the switch's client asks: both releases; beside what serves, only that."""
    if cutover.is_beside and (current := read_current(state)):
        return [current.endpoint]
    return [release.endpoint for release in (frm, to) if release is not None]


def _judge_wish(asked: Decision | None, waited_s: float) -> Decision | None:
    return asked if asked and asked.decision == "try" else None


def _exchange(hand: Hand, goes: Release, comes: Release) -> Release:
    """The one that comes is in the switch's record before it is started, and the other proved gone before that."""
    forget_decision(hand.state)
    hand.enter("stopping")
    stop(hand, goes, name="stop tried")
    hand.enter("freeing")
    prove_free(hand, goes, comes)
    hand.record(to_release=comes.id)
    bring_up(hand, comes)
    record_proved(hand.state, comes.id)
    return comes
