"""A trial, the run's side: releases are tried one after another by one switch that promotes none of them and always goes back."""

import time
from collections.abc import Callable

from modelpivot.errors import PreconditionError
from modelpivot.models.cutover import Cutover, Trial
from modelpivot.models.release import Release
from modelpivot.stages.context import Context
from modelpivot.stages.switch import start_switch
from modelpivot.state.cutovers import ask_decision
from modelpivot.state.releases import read_book
from modelpivot.supervisors.choose import choose_supervisor


def start_trial(context: Context, *, to: Release, frm: Release | None, turn_at: float, back_by: float) -> Cutover:
    """The first release on its way up. `frm` is stopped for it, and back in the end; None: it comes up beside what serves. As `start_switch`.

    PreconditionError where what serves was stopped by name: a trial ends with it up again, and only a person's word may start it.
    """
    if (book := read_book(context.state)).is_current_stopped:
        raise PreconditionError(
            f"{book.current} was stopped by name, and a trial would start it", hint="modelpivot recover starts it again"
        )
    return start_switch(context, to=to, frm=frm, trial=Trial(turn_at=turn_at, back_by=back_by))


def try_next(context: Context, release: Release) -> None:
    """Ask the open trial to stop what it has up and to bring this release up, which may be the same. PreconditionError when it is over."""
    choose_supervisor(context.host, context.state).prepare(release)
    ask_decision(context.state, "try", reason="the next one to try", release=release.id)


def is_up(starts: int) -> Callable[[Cutover], bool]:
    """For `follow_switch`: so many releases came up, the last of them answers."""
    return lambda cutover: cutover.phase == "unconfirmed" and cutover.trial is not None and cutover.trial.starts == starts


def has_time(cutover: Cutover, seconds: float) -> bool:
    """Whether so much can still be done before the trial turns round."""
    return cutover.trial is not None and time.time() + seconds < cutover.trial.turn_at
