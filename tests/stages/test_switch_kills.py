"""Cut the cord: SIGKILL of the run and of the switch, one at a time and together, at every phase."""

import os
import signal
import subprocess

import pytest

from modelpivot.models.recipe import Deadlines, Hooks
from modelpivot.stages.recover import recover
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import read_lock
from modelpivot.state.releases import read_book
from tests.switching import DEADLINES, SwitchHost, answers

PHASES = ["draining", "stopping", "freeing", "starting", "readying", "probing", "unconfirmed"]
SHORT = Deadlines.model_validate(DEADLINES.model_dump() | {"confirm_s": 0.5})
SLOW_DRAIN = Hooks(drain=["sleep 0.2"])


def _kill_run(runner: "subprocess.Popen[bytes]") -> None:
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()


def _assert_old_serves_alone(host: SwitchHost) -> None:
    assert len(host.engines()) == 1
    assert read_book(host.state).current == "old"
    assert read_cutover(host.state) is None
    assert read_lock(host.state) is None


@pytest.mark.parametrize("phase", PHASES)
def test_run_killed(switch_host: SwitchHost, phase: str) -> None:
    """Without its run the switch goes on, waits until `confirm_by`, and goes back by itself: the old release answers, alone."""
    old = switch_host.serve(switch_host.release("old", hooks=SLOW_DRAIN))
    new = switch_host.release("new", deadlines=SHORT)
    runner = switch_host.start_runner(old, new, "stay")
    switch_host.wait_for_phase(phase)
    _kill_run(runner)
    closed = switch_host.wait_closed("runner")
    assert (closed.outcome, closed.reason) == ("returned", "nobody confirmed new within 0.5 s")
    assert answers(old)
    switch_host.wait_unlocked()
    _assert_old_serves_alone(switch_host)


@pytest.mark.parametrize("phase", PHASES)
def test_run_and_switch_killed(switch_host: SwitchHost, phase: str) -> None:
    """What a dead switch left open goes back when it is recovered: the old release answers, alone."""
    old = switch_host.serve(switch_host.release("old", hooks=SLOW_DRAIN))
    new = switch_host.release("new")
    runner = switch_host.start_runner(old, new, "stay")
    cutover = switch_host.wait_for_phase(phase)
    _kill_run(runner)
    switch_host.kill_switch(cutover)
    closed = recover(switch_host.context())
    assert closed is not None
    assert closed.outcome == "returned", closed
    assert answers(old)
    _assert_old_serves_alone(switch_host)


def test_switch_killed_under_its_run(switch_host: SwitchHost) -> None:
    """A run that follows sees the death of the switch process and brings the old release back."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    seen = switch_host.wait_for_phase("readying")
    switch_host.kill_switch(seen)
    closed = follow_switch(context, cutover, until=is_closed)
    assert closed.outcome == "returned"
    assert "the switch process died" in closed.reason
    assert answers(old)
    _assert_old_serves_alone(switch_host)


def test_killed_on_the_way_back(switch_host: SwitchHost) -> None:
    """A switch that dies while it goes back is recovered the same way, and keeps the first reason."""
    old = switch_host.serve(switch_host.release("old", args=("--load-s", "2")))
    new = switch_host.release("new", fault="garbage")
    runner = switch_host.start_runner(old, new, "stay")
    cutover = switch_host.wait_for_phase("returning")
    _kill_run(runner)
    switch_host.kill_switch(cutover)
    closed = recover(switch_host.context())
    assert closed is not None
    assert closed.outcome == "returned"
    assert "one token repeated" in closed.reason
    assert answers(old)
    _assert_old_serves_alone(switch_host)
