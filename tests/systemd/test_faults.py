"""Faults that really happen, on a real systemd: each is named by its number in the list that this project was built against (docs/systemd.md)."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from modelpivot.errors import HostHeld
from modelpivot.host import is_alive, read_process_id
from modelpivot.lifeline import Child
from modelpivot.models.cutover import ProcessId
from modelpivot.models.recipe import Deadlines, Hooks
from modelpivot.state.lock import acquire_lock, read_lock
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import read_events
from modelpivot.supervisors.process import send_signal
from modelpivot.supervisors.staging import staging_words
from tests.lab.sandbox import Sandbox
from tests.systemd.cutting import TREE
from tests.systemd.units import DEADLINES, ROOT, Units

PROJECT = Path(__file__).resolve().parents[2]
WORKER = "test-worker.service"


def with_deadlines(**changes: float) -> Deadlines:
    """The tests' deadlines with some of their own."""
    return DEADLINES.model_copy(update=changes)


@pytest.mark.parametrize("fault", ["lie", "hang_generating"])
def test_health_without_an_answer_is_not_ready(units: Units, fault: str) -> None:
    """E8: /health is 200 and no text comes (an error, or nothing at all): the new release is not taken for ready, and the old one comes back."""
    old, new = units.serve(units.release("old")), units.release("new", fault=fault, deadlines=with_deadlines(ready_s=2, ready_max_s=4))
    closed = units.wait_phase(units.begin_switch(old, new), "closed")
    assert closed.outcome == "returned"
    assert "ready" in [step.name for step in closed.steps if step.result == "failed"]
    units.assert_serves(old, new)


def test_a_slow_load_that_goes_on_is_waited_for(units: Units) -> None:
    """E9: a load of 12 s against 10 s without progress: its shards, one every 3 s, move the deadline."""
    old, new = units.serve(units.release("old")), units.release("new", args=("--load-s", "12"), deadlines=with_deadlines(ready_s=10))
    assert units.wait_phase(units.begin_switch(old, new), "closed").outcome == "promoted"
    units.assert_serves(new, old)


def test_a_load_that_stands_still_is_not(units: Units) -> None:
    """E9: an engine that writes its log and gets nowhere is given up after `ready_s`, not after `ready_max_s`; it heeds no SIGTERM while it loads,
    and is ended long before `stop_s`, since it answered nobody."""
    old = units.serve(units.release("old"))
    new = units.release("new", fault="deaf_loading", deadlines=with_deadlines(ready_s=2, ready_max_s=600, stop_s=600))
    closed = units.wait_phase(units.begin_switch(old, new), "closed")
    ready = next(step for step in closed.steps if step.name == "ready")
    assert (closed.outcome, ready.result) == ("returned", "failed")
    assert 2 <= ready.seconds < 600
    assert [step.result for step in closed.steps if step.name == "stop new" and step.seconds < 60] == ["done"]
    units.assert_serves(old, new)


def hold_the_host(run_id: str) -> ProcessId:
    """Inside: the lock, held by this process."""
    return acquire_lock(StatePaths(ROOT), run_id=run_id, what=f"run {run_id}").holder


def test_lock_goes_from_the_run_to_the_switch(units: Units) -> None:
    """H7: the open switch holds the host after its run has ended; a second run is refused; once it is over the host is free."""
    old, new = units.serve(units.release("old")), units.release("new")
    cutover = units.begin_switch(old, new, confirm="asked")
    switch = units.wait_phase(cutover, "unconfirmed").switch
    lock = units.sandbox.call(read_lock, units.state)
    assert lock and lock.holder == switch
    with pytest.raises(HostHeld, match="switch to new"):
        units.sandbox.call(hold_the_host, "second")
    units.decide("promote")
    assert units.wait_phase(cutover, "closed").outcome == "promoted"
    units.wait(lambda: units.sandbox.call(read_lock, units.state) is None, what="the lock to be let go of")
    units.assert_serves(new, old)


def test_lock_of_an_earlier_boot_is_nobodys(own_machine: Sandbox) -> None:
    """H7: a run held the host when the power was cut: its lock stays on disk and binds nobody, whatever process has its number now."""
    own_machine.shell(f"mkdir -p {ROOT}")
    before = own_machine.call(hold_the_host, "first")
    own_machine.reboot()
    after = own_machine.call(hold_the_host, "second")
    assert after.boot_id != before.boot_id


def start_worker(units: Units, to: str, frm: str) -> None:
    """A unit that runs the worker and, below it, the flow that carries the run: as a Prefect worker under systemd does."""
    words = [sys.executable, "-m", "tests.systemd.run_tree", to, frm, "stay", "worker"]
    setenv = [f"--setenv=PYTHONPATH={PROJECT}", f"--setenv=MODELPIVOT_STATE_DIR={ROOT}"]
    units.sandbox.shell(f"rm -f {TREE}")
    units.sandbox.exec("systemd-run", "--quiet", "--collect", f"--unit={WORKER}", *setenv, "--", *words)


def test_a_cancel_ends_the_worker_and_neither_switch_nor_model(units: Units) -> None:
    """O1: the worker's unit is ended with all that is in it, in the middle of a switch: the switch goes on alone, and goes back by itself."""
    old = units.serve(units.release("old"))
    new = units.release("new", args=("--load-s", "3"), deadlines=with_deadlines(confirm_s=3))
    start_worker(units, "new", "old")
    state = units.state
    is_under_way = f'grep -qE \'"phase": "(readying|probing|unconfirmed)"\' {state.cutover} 2>/dev/null && echo yes || true'
    units.wait(lambda: units.sandbox.shell(is_under_way), what="the start")
    units.sandbox.shell(f"systemctl kill --signal=KILL {WORKER}; systemctl stop {WORKER} 2>/dev/null || true")
    units.wait(lambda: units.sandbox.shell(f"ls {state.cutover} 2>/dev/null || true") == "", what="the switch to close")
    units.assert_serves(old, new)


def staged_child(pid_file: Path) -> None:
    """Inside: a child of a run, in the staging slice, that would live for an hour."""
    script = f"from modelpivot.lifeline import end_with_parent; end_with_parent(); open('{pid_file}', 'w').write(str(os.getpid())); time.sleep(3600)"
    argv = staging_words([sys.executable, "-c", f"import os, time; {script}"])
    Child(argv, env=os.environ | {"PYTHONPATH": str(PROJECT)}, log=ROOT / "child.log")
    time.sleep(3600)


def test_a_staging_child_ends_with_its_run(sandbox: Sandbox) -> None:
    """O1: a download lives in a slice of its own, outside its worker's unit, and ends when the worker is killed all the same."""
    pid_file = Path("/run/test-child")
    code = f"from tests.systemd.test_faults import staged_child; from pathlib import Path; staged_child(Path('{pid_file}'))"
    sandbox.exec(
        "systemd-run", "--quiet", "--collect", f"--unit={WORKER}", f"--setenv=PYTHONPATH={PROJECT}", "--", sys.executable, "-c", code
    )
    pid = int(sandbox.shell(f"until [[ -s {pid_file} ]]; do sleep 0.05; done; cat {pid_file}"))
    child = sandbox.call(read_process_id, pid)
    assert child
    sandbox.shell(f"systemctl kill --signal=KILL {WORKER}")
    Units(sandbox).wait(lambda: not sandbox.call(is_alive, child), what="the end of the child")


def test_a_stranger_on_the_port_is_named_and_blocks(units: Units) -> None:
    """H4: somebody else holds the new release's port: nothing is stopped, the stranger is named and lives on."""
    old = units.serve(units.release("old"))
    new = units.release("new")
    new = units.write(new.model_copy(update={"endpoint": new.endpoint.model_copy(update={"port": 8001})}))
    units.sandbox.exec("systemd-run", "--quiet", "--unit=test-stranger", "--", "/usr/bin/python3", "-m", "http.server", "8001")
    units.wait(lambda: ":8001 " in units.sandbox.shell("ss -Hltn; true"), what="the stranger to listen")
    main, stranger = units.status(old).main, units.sandbox.show("test-stranger", "MainPID")
    closed = units.wait_phase(units.begin_switch(old, new), "closed")
    assert closed.outcome == "not_started"
    assert f"process {stranger}" in closed.reason and "http.server" in closed.reason
    assert (units.status(old).main, units.sandbox.show("test-stranger", "MainPID")) == (main, stranger)


def test_hooks_drain_and_undrain_within_their_deadline(units: Units) -> None:
    """A drain hook that hangs is ended with its children at `drain_s`, and the switch goes on; the undrain hook runs when the new release has answered."""
    hooks = Hooks(drain=["echo out >> /run/test-balancer", "sleep 3333"], undrain=["echo in >> /run/test-balancer"])
    old = units.serve(units.release("old", hooks=hooks, deadlines=with_deadlines(drain_s=3)))
    new = units.release("new", hooks=hooks)
    closed = units.wait_phase(units.begin_switch(old, new), "closed")
    drain = next(step for step in closed.steps if step.name == "drain")
    assert closed.outcome == "promoted" and 3 <= drain.seconds < 3333
    assert units.sandbox.shell("cat /run/test-balancer; rm /run/test-balancer; pgrep -fx 'sleep 3333' || true") == "out\nin"


def test_a_switch_that_hangs_is_ended_and_goes_back(units: Units) -> None:
    """SIGSTOP of the switch: systemd's watchdog (here 15 s instead of 150) kills it, and its next process brings the old release back."""
    units.sandbox.write("/etc/systemd/system/modelpivot-switch-.service.d/99-watchdog.conf", "[Service]\nWatchdogSec=15\n")
    units.sandbox.shell("systemctl daemon-reload")
    old, new = units.serve(units.release("old")), units.release("new")
    cutover = units.begin_switch(old, new, confirm="asked")
    switch = units.wait_phase(cutover, "unconfirmed").switch
    assert switch
    units.sandbox.call(send_signal, switch, signal.SIGSTOP)
    closed = units.wait_phase(cutover, "closed")
    assert closed.outcome == "returned" and closed.switch != switch
    units.assert_serves(old, new)


def test_nothing_serves_is_said_with_what_stands_there(units: Units) -> None:
    """Both releases die at their start: the end is `nothing_serves`, and its reason names both units, their logs and the next move."""
    times = ROOT / "times"
    old = units.serve(units.release("old", fault="die_at_start", args=("--fault-times", str(times))))
    units.sandbox.write(times, "9")
    closed = units.wait_phase(units.begin_switch(old, units.release("new", fault="die_at_start")), "closed")
    assert closed.outcome == "nothing_serves"
    for words in ("old is", "new is", "releases/old/log", "modelpivot recover"):
        assert words in closed.reason
    units.sandbox.write(times, "0")
    command = ["env", f"PYTHONPATH={PROJECT}", f"MODELPIVOT_STATE_DIR={ROOT}", sys.executable, "-m", "modelpivot.cli.internal", "recover"]
    units.sandbox.exec(*command)
    units.wait_answers(old)


def test_units_are_verified_by_systemd_itself(units: Units) -> None:
    """`systemd-analyze verify` says nothing of the engine's and the boot unit."""
    units.sandbox.call(units.supervisor.prepare, units.release("new"))
    names = "/etc/systemd/system/modelpivot-new.service /etc/systemd/system/modelpivot-recover.service"
    assert units.sandbox.shell(f"systemd-analyze verify {names} 2>&1") == ""


@pytest.mark.parametrize("spoiled", ["{garbage", '{"id": 7}'])
def test_a_release_that_cannot_be_read_keeps_no_other_from_being_prepared(units: Units, spoiled: str) -> None:
    """A file of a release that has nothing to do with the switch is spoiled: the switch takes place."""
    old, new = units.serve(units.release("old")), units.release("new")
    units.sandbox.write(ROOT / "releases/another/release.json", spoiled)
    assert units.wait_phase(units.begin_switch(old, new), "closed").outcome == "promoted"
    units.assert_serves(new, old)


def test_death_is_seen_while_a_generation_hangs(units: Units) -> None:
    """An engine that dies while it holds a request open: the switch sees that, and does not wait until ten minutes without progress are over."""
    patient = with_deadlines(ready_s=600, ready_max_s=3600)
    old, new = units.serve(units.release("old")), units.release("new", fault="die_hanging", deadlines=patient)
    cutover = units.begin_switch(old, new)
    closed = units.wait_phase(cutover, "closed")
    assert closed.outcome == "returned" and "the engine ended while it started" in closed.reason
    events, _ = units.sandbox.call(read_events, units.state.run(cutover.run_id))
    seen_at = next(event.at for event in events if (event.stage, event.kind) == ("ready", "failed"))
    exited = units.sandbox.shell(
        "journalctl --sync; journalctl --unit modelpivot-new.service --output short-unix | grep 'Main process exited' | sed -n 1p"
    )
    died_at = float(exited.split()[0])
    assert died_at < seen_at
