"""A trial: releases are tried one after another by one switch, none is promoted, and what served before serves again, whoever dies meanwhile."""

import signal
import time

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.models.cutover import Cutover, Trial
from modelpivot.stages.promote import promote
from modelpivot.stages.recover import recover
from modelpivot.stages.rollback import rollback
from modelpivot.stages.switch import follow_switch, is_closed, join_switch
from modelpivot.stages.trial import is_up, start_trial, try_next
from modelpivot.state.cutovers import ask_decision, read_cutover
from modelpivot.state.releases import read_book
from tests.ports import free_port
from tests.switching import SwitchHost, answers, switch_host, wait_until

__all__ = ["switch_host"]
HOUR_S = 3600.0


def until(seconds: float) -> dict[str, float]:
    """A trial that turns round in so many seconds."""
    return {"turn_at": time.time() + seconds, "back_by": time.time() + seconds + 30}


def end(host: SwitchHost) -> Cutover:
    """The trial, ended by its run."""
    cutover = read_cutover(host.state)
    assert cutover
    ask_decision(host.state, "return", reason="enough")
    return follow_switch(host.context(cutover.run_id), cutover, until=is_closed)


def test_what_was_tried_in_the_window_leaves_the_host_as_it_was(switch_host: SwitchHost) -> None:
    """Stopped once for two releases and a second start of the first; the old one serves again, and the book knows no other current one."""
    old = switch_host.serve(switch_host.release("old"))
    first, second = (switch_host.release(name) for name in ("first", "second"))
    book, context = read_book(switch_host.state), switch_host.context()
    trial = start_trial(context, to=first, frm=old, **until(HOUR_S))
    follow_switch(context, trial, until=is_up(1))
    assert answers(first)
    for number, release in enumerate((first, second), start=2):
        try_next(context, release)
        up = follow_switch(context, trial, until=is_up(number))
        assert (up.to_release, answers(release)) == (release.id, True)
    closed = end(switch_host)
    assert (closed.outcome, closed.reason, answers(old)) == ("returned", "enough", True)
    assert [step.release for step in closed.steps if step.name == "serve"] == ["first", "first", "second", "old"]
    assert [step.name for step in closed.steps].count("stop old") == 1
    now = read_book(switch_host.state)
    assert (now.current, now.previous) == (book.current, book.previous)
    assert closed.lost.downtime_s > 0


def test_beside_what_serves_nothing_is_stopped(switch_host: SwitchHost) -> None:
    """On another port; the old one answers all the while and loses no request; in the end nothing but it is left."""
    old = switch_host.serve(switch_host.release("old"))
    new = switch_host.release("new", port=free_port())
    context = switch_host.context()
    trial = start_trial(context, to=new, frm=None, **until(HOUR_S))
    follow_switch(context, trial, until=is_up(1))
    assert answers(old) and answers(new)
    closed = end(switch_host)
    assert (closed.outcome, closed.lost.lost_requests, closed.lost.downtime_s) == ("returned", 0, 0.0)
    assert answers(old) and not switch_host.supervisor.processes(new)
    assert read_book(switch_host.state).current == "old"


@pytest.mark.parametrize("fault", ["die_at_start", "die_after_ready"])
def test_one_that_does_not_stay_up_ends_the_trial(switch_host: SwitchHost, fault: str) -> None:
    """The second release fails; the old one is back, and the switch keeps the engine's own words where it has any."""
    old = switch_host.serve(switch_host.release("old"))
    good, bad = switch_host.release("good"), switch_host.release("bad", fault=fault)
    context = switch_host.context()
    trial = start_trial(context, to=good, frm=old, **until(HOUR_S))
    follow_switch(context, trial, until=is_up(1))
    try_next(context, bad)
    closed = follow_switch(context, trial, until=is_closed)
    assert (closed.outcome, closed.to_release, answers(old)) == ("returned", "bad", True)
    assert fault != "die_at_start" or any("e_score_correction_bias" in line for line in closed.cause)


@pytest.mark.parametrize("fault", ["none", "hang_loading"])
def test_the_time_ends_a_trial_whatever_it_does(switch_host: SwitchHost, fault: str) -> None:
    """Up and unconfirmed, or still on its way up: at the hour it turns round, and the old one is back by itself."""
    old = switch_host.serve(switch_host.release("old"))
    new = switch_host.release("new", fault=fault)
    context = switch_host.context()
    trial = start_trial(context, to=new, frm=old, **until(3))
    closed = follow_switch(context, trial, until=is_closed)
    assert (closed.outcome, closed.reason, answers(old)) == ("returned", "the time for the trial is over", True)


def test_a_trial_whose_run_was_killed_goes_back_at_once(switch_host: SwitchHost) -> None:
    """SIGKILL to the run while the tried one is up: nobody waits for the hour; the old one is back."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    runner = switch_host.start_runner(old, new, "trial")
    up = switch_host.wait_for_phase("unconfirmed")
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    closed = switch_host.wait_closed(up.run_id)
    assert (closed.outcome, closed.reason, answers(old)) == ("returned", "the run that tried it is gone", True)


@pytest.mark.parametrize("is_beside", [False, True])
def test_a_trial_whose_switch_died_is_taken_back(switch_host: SwitchHost, is_beside: bool) -> None:
    """SIGKILL to run and switch process: `recover` stops what was tried and has the old one answer."""
    old = switch_host.serve(switch_host.release("old"))
    new = switch_host.release("new", port=free_port() if is_beside else None)
    runner = switch_host.start_runner(None if is_beside else old, new, "trial")
    up = switch_host.wait_for_phase("unconfirmed")
    runner.send_signal(signal.SIGSTOP)
    switch_host.kill_switch(up)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    closed = recover(switch_host.context())
    assert closed is not None
    assert (closed.outcome, answers(old)) == ("returned", True)
    wait_until(lambda: not switch_host.supervisor.processes(new), what="the tried one to be gone")


def test_nobody_promotes_or_takes_up_a_trial(switch_host: SwitchHost) -> None:
    """Promote and join are refused in a sentence; a rollback ends it."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    trial = start_trial(context, to=new, frm=old, **until(HOUR_S))
    follow_switch(context, trial, until=is_up(1))
    with pytest.raises(PreconditionError, match="only tried"):
        promote(context)
    with pytest.raises(PreconditionError, match="is open"):
        join_switch(context, new)
    closed = rollback(context)
    assert closed and closed.outcome == "returned"
    assert answers(old)


def test_a_trial_on_paper_is_no_pivot() -> None:
    """Beside is what has a trial and nothing to go back to; a first release of a host has no trial."""
    paper = {"id": "1", "run_id": "r", "to_release": "x", "deadlines": {}, "lock_token": "", "created_at": 0.0, "from_release": None}
    trial = Trial(turn_at=1, back_by=2)
    assert Cutover.model_validate({**paper, "trial": trial}).is_beside
    assert not Cutover.model_validate(paper).is_beside
    assert not Cutover.model_validate({**paper, "from_release": "y", "trial": trial}).is_beside
