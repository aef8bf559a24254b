"""What can go wrong in a switch, and who answers afterwards."""

import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

from modelpivot.models.cutover import Cutover
from modelpivot.models.recipe import Deadlines, Hooks
from modelpivot.models.release import Release
from modelpivot.stages.recover import recover
from modelpivot.stages.stop import UNANSWERED_S
from modelpivot.stages.switch import follow_switch, is_closed, is_unconfirmed, start_switch
from modelpivot.state.cutovers import ask_decision
from modelpivot.state.releases import read_book
from modelpivot.state.runs import read_events
from tests.switching import DEADLINES, SwitchHost, answers, is_gone, wait_until

PHASES = ["draining", "stopping", "freeing", "starting", "readying", "probing", "unconfirmed"]
IMPATIENT = Deadlines.model_validate(DEADLINES.model_dump() | {"ready_s": 1.2})
PATIENT = Deadlines.model_validate(DEADLINES.model_dump() | {"stop_s": 600})


def _assert_returned(host: SwitchHost, closed: Cutover, old: Release) -> None:
    assert closed.outcome == "returned", closed
    assert answers(old)
    assert len(host.engines()) == 1
    assert read_book(host.state).current == old.id


@pytest.mark.parametrize("fault", ["lie", "garbage", "empty", "nan", "unlisted", "die_after_ready", "hang_loading", "hang_generating"])
def test_goes_back(switch_host: SwitchHost, fault: str) -> None:
    """Whatever is wrong with the new release, the old one answers again, alone."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", fault=fault, deadlines=IMPATIENT)
    _assert_returned(switch_host, switch_host.switch(old, new, confirm="asked"), old)


def test_engine_names_the_cause(switch_host: SwitchHost) -> None:
    """The engine's own words for the cause are kept and stand in the reason, though they are far above its last line."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", fault="die_at_start")
    closed = switch_host.switch(old, new)
    _assert_returned(switch_host, closed, old)
    assert closed.cause[-1] == "KeyError: 'layers.1.mlp.gate.e_score_correction_bias'"
    assert closed.cause[-1] in closed.reason


def test_death_is_seen_while_a_generation_hangs(switch_host: SwitchHost) -> None:
    """An engine that dies while a request hangs on it (0.3 s after it came) is seen to be dead, before a minute without progress is over."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", fault="die_hanging", args=("--load-s", "0"))
    closed = switch_host.switch(old, new)
    _assert_returned(switch_host, closed, old)
    assert "the engine ended while it started" in closed.reason


def test_binary_gone_after_the_stop(switch_host: SwitchHost) -> None:
    """An engine that cannot be started any more, once the old one has stopped, goes back too."""
    python = switch_host.root / "python"
    shutil.copy("/bin/sh", python)
    old = switch_host.release("old", hooks=Hooks(drain=[f"rm {python}"]))
    broken = switch_host.release("new")
    broken = switch_host.write(broken.model_copy(update={"start": broken.start.model_copy(update={"argv": [str(python)]})}))
    closed = switch_host.switch(switch_host.serve(old), broken)
    _assert_returned(switch_host, closed, old)
    assert f"{python} does not start" in closed.reason


@pytest.mark.parametrize("phase", PHASES)
def test_asked_to_return(switch_host: SwitchHost, phase: str) -> None:
    """Whoever asks for the way back gets it in every phase, and the reason is kept."""
    old, new = switch_host.serve(switch_host.release("old", hooks=Hooks(drain=["sleep 0.2"]))), switch_host.release("new")
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    switch_host.wait_for_phase(phase)
    ask_decision(switch_host.state, "return", reason="the gate said no")
    closed = follow_switch(context, cutover, until=is_closed)
    _assert_returned(switch_host, closed, old)
    assert closed.reason == "the gate said no"


def test_asked_while_draining_stops_nothing(switch_host: SwitchHost) -> None:
    """Asked before the old release was stopped, it was never away: the same process answers."""
    old, new = switch_host.serve(switch_host.release("old", hooks=Hooks(drain=["sleep 30"]))), switch_host.release("new")
    before = switch_host.engines()
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    switch_host.wait_for_phase("draining")
    ask_decision(switch_host.state, "return", reason="changed my mind")
    closed = follow_switch(context, cutover, until=is_closed)
    _assert_returned(switch_host, closed, old)
    assert switch_host.engines() == before
    assert closed.lost.lost_requests == 0


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_switch_told_to_end(switch_host: SwitchHost, sign: signal.Signals) -> None:
    """SIGTERM, SIGINT and SIGHUP to the switch process are the same as being asked to return."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    seen = switch_host.wait_for_phase("readying")
    assert seen.switch is not None
    os.kill(seen.switch.pid, sign)
    closed = follow_switch(context, cutover, until=is_closed)
    _assert_returned(switch_host, closed, old)
    assert "told to end" in closed.reason


def test_a_pipe_that_breaks_is_nothing_to_a_switch(switch_host: SwitchHost) -> None:
    """SIGPIPE to the switch process changes nothing."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old, confirm="automatic")
    seen = switch_host.wait_for_phase("readying")
    assert seen.switch is not None
    os.kill(seen.switch.pid, signal.SIGPIPE)
    closed = follow_switch(context, cutover, until=is_closed)
    assert (closed.outcome, closed.switch) == ("promoted", seen.switch)


def test_run_that_stops_asks_to_return(switch_host: SwitchHost) -> None:
    """A run that is interrupted while it follows asks the switch to return and sees it through."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    closed = follow_switch(context, cutover, until=is_unconfirmed, is_stopping=lambda: True)
    _assert_returned(switch_host, closed, old)
    assert "interrupted" in closed.reason


def test_first_release_fails(switch_host: SwitchHost) -> None:
    """Where nothing served before, a failure leaves nothing, says so, and stops the new engine."""
    closed = switch_host.switch(None, switch_host.release("new", fault="garbage"))
    assert closed.outcome == "nothing_serves"
    assert "nothing served before either" in closed.reason
    assert switch_host.engines() == []
    assert read_book(switch_host.state).current is None


def test_way_back_is_tried_twice(switch_host: SwitchHost) -> None:
    """An old release that fails once to come back is started a second time, from a clean stop."""
    times = switch_host.root / "times"
    old = switch_host.serve(switch_host.release("old", fault="die_at_start", args=("--fault-times", str(times))))
    times.write_text("1")
    closed = switch_host.switch(old, switch_host.release("new", fault="garbage"))
    _assert_returned(switch_host, closed, old)


def test_nothing_serves(switch_host: SwitchHost) -> None:
    """When the old release does not come back either, the reason says what stands on the host; once it is mended, `recover` starts it."""
    times = switch_host.root / "times"
    old = switch_host.serve(switch_host.release("old", fault="die_at_start", args=("--fault-times", str(times))))
    times.write_text("9")
    closed = switch_host.switch(old, switch_host.release("new", fault="garbage"))
    assert closed.outcome == "nothing_serves"
    assert all(
        words in closed.reason for words in ("one token repeated", "old is failed", str(switch_host.supervisor.log_path(old)), "recover")
    )
    times.unlink()
    again = recover(switch_host.context())
    assert again is not None
    assert again.outcome == "promoted"
    assert answers(old)
    assert recover(switch_host.context()) is None


def test_old_release_answers_otherwise(switch_host: SwitchHost) -> None:
    """An old release that generates, but not as it was proved, stays up: the reason says so instead of leaving nothing."""
    times = switch_host.root / "times"
    old = switch_host.release("old", fault="drift", args=("--fault-times", str(times)))
    assert switch_host.switch(None, old).outcome == "promoted"
    times.write_text("9")
    closed = switch_host.switch(old, switch_host.release("new", fault="die_at_start"))
    _assert_returned(switch_host, closed, old)
    assert "not as it was proved" in closed.reason


def test_logprobs_other_than_recorded(switch_host: SwitchHost) -> None:
    """A release whose log-probabilities are not those of its first proof is not kept."""
    times = switch_host.root / "times"
    old = switch_host.serve(switch_host.release("old"))
    new = switch_host.release("new", fault="drift", args=("--fault-times", str(times)))
    assert switch_host.switch(old, new).outcome == "promoted"
    assert switch_host.switch(new, old).outcome == "promoted"
    times.write_text("1")
    closed = switch_host.switch(old, new)
    _assert_returned(switch_host, closed, old)
    assert "log-probability" in closed.reason


def test_stranger_on_the_port_blocks(switch_host: SwitchHost) -> None:
    """A stranger on the new release's port is named before anything is stopped, and never touched."""
    old = switch_host.serve(switch_host.release("old"))
    before = switch_host.engines()
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        closed = switch_host.switch(old, switch_host.release("new", port=port))
    assert closed.outcome == "not_started"
    assert f"port {port} is held by process {os.getpid()}" in closed.reason
    assert switch_host.engines() == before


def test_missing_engine_blocks(switch_host: SwitchHost) -> None:
    """An engine or view that is not there is named before anything is stopped."""
    old = switch_host.serve(switch_host.release("old"))
    new = switch_host.release("new")
    new = switch_host.write(new.model_copy(update={"view_dir": Path("/nowhere/view")}))
    closed = switch_host.switch(old, new)
    assert closed.outcome == "not_started"
    assert "/nowhere/view is not there" in closed.reason


def test_missing_key_blocks(switch_host: SwitchHost) -> None:
    """A key that the new release needs and nobody can read is named before anything is stopped."""
    old = switch_host.serve(switch_host.release("old"))
    new = switch_host.release("new")
    new = switch_host.write(new.model_copy(update={"endpoint": new.endpoint.model_copy(update={"api_key_file": Path("/nowhere/key")})}))
    closed = switch_host.switch(old, new)
    assert closed.outcome == "not_started"
    assert "/nowhere/key cannot be read" in closed.reason
    assert answers(old)


@pytest.mark.parametrize("fault", ["child", "ignore_term"])
def test_old_engine_that_clings(switch_host: SwitchHost, fault: str) -> None:
    """An old engine that ignores SIGTERM, or whose child does in a session of its own, is gone before the new one starts."""
    hasty = Deadlines.model_validate(DEADLINES.model_dump() | {"stop_s": 0.3})
    old, new = switch_host.serve(switch_host.release("old", fault=fault, deadlines=hasty)), switch_host.release("new")
    left = switch_host.supervisor.processes(old)
    assert len(left) == (2 if fault == "child" else 1)
    assert switch_host.switch(old, new).outcome == "promoted"
    assert switch_host.supervisor.processes(old) == []
    assert all(is_gone(process) for process in left)


def test_new_engine_that_heeds_nothing_while_it_loads(switch_host: SwitchHost) -> None:
    """Nobody was answered by it, so its stop is short: the way back does not wait for `stop_s`."""
    patient = PATIENT.model_copy(update={"ready_s": 1})
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", fault="deaf_loading", deadlines=patient)
    closed = switch_host.switch(old, new)
    _assert_returned(switch_host, closed, old)
    assert [step.result for step in closed.steps if step.name == "stop new" and step.seconds < patient.stop_s / 10] == ["done"]
    assert switch_host.supervisor.processes(new) == []


def test_new_engine_that_answered_has_its_time(switch_host: SwitchHost) -> None:
    """One that was ready and is sent back ends as it would: what it answers is answered."""
    old = switch_host.serve(switch_host.release("old"))
    new = switch_host.release("new", fault="garbage", args=("--stop-s", str(UNANSWERED_S + 1)), deadlines=PATIENT)
    closed = switch_host.switch(old, new)
    _assert_returned(switch_host, closed, old)
    assert [step.seconds > UNANSWERED_S for step in closed.steps if step.name == "stop new"] == [True]


def test_old_engine_was_dead(switch_host: SwitchHost) -> None:
    """A current release that had died before the switch is brought back all the same when the new one fails."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", fault="die_at_start")
    main = switch_host.supervisor.status(old).main
    assert main is not None
    os.kill(main.pid, signal.SIGKILL)
    wait_until(lambda: switch_host.supervisor.status(old).state == "failed", what="its death")
    _assert_returned(switch_host, switch_host.switch(old, new), old)


@pytest.mark.parametrize("line", ["exit 3", "sleep 60"])
def test_hook_that_fails(switch_host: SwitchHost, line: str) -> None:
    """A drain hook that fails or outlives its deadline is a warning; the switch goes on."""
    short = Deadlines.model_validate(DEADLINES.model_dump() | {"drain_s": 0.3})
    old, new = switch_host.serve(switch_host.release("old", hooks=Hooks(drain=[line]), deadlines=short)), switch_host.release("new")
    closed = switch_host.switch(old, new)
    assert closed.outcome == "promoted"
    events, _ = read_events(switch_host.state.run(closed.run_id))
    assert any(event.kind == "warning" and "drain hook" in event.message for event in events)


def test_hooks_on_both_ways(switch_host: SwitchHost) -> None:
    """Drained before the stop, undrained after the probe; on the way back the old release is undrained again."""
    said = switch_host.root / "said"

    def hooks(name: str) -> Hooks:
        return Hooks(drain=[f"echo drain {name} >> {said}"], undrain=[f"echo undrain {name} $MODELPIVOT_RELEASE >> {said}"])

    old, new = switch_host.serve(switch_host.release("old", hooks=hooks("old"))), switch_host.release("new", hooks=hooks("new"))
    assert switch_host.switch(old, new).outcome == "promoted"
    bad = switch_host.release("bad", fault="die_at_start", hooks=hooks("bad"))
    assert switch_host.switch(new, bad).outcome == "returned"
    assert said.read_text().splitlines() == ["drain old", "undrain new new", "drain new", "undrain new new"]
