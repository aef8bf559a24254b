"""What a dead switch leaves: whom the host is kept for, what goes forward no more, and what serves though there is nothing to go back to."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from modelpivot.benchmark.client import Client
from modelpivot.errors import CommandFailed, HostHeld
from modelpivot.models.cutover import Cutover
from modelpivot.models.result import ExitCode
from modelpivot.settings import to_environment
from modelpivot.stages.carry_out import carry_out
from modelpivot.stages.hand import Hand
from modelpivot.stages.recover import recover, recover_at_boot
from modelpivot.stages.switch import follow_switch, is_closed, is_unconfirmed, start_switch
from modelpivot.state.cutovers import read_cutover, read_cutover_of_run, write_cutover
from modelpivot.state.lock import acquire_lock, read_lock, release_lock
from modelpivot.state.releases import read_book
from modelpivot.supervisors.process import ProcessSupervisor
from tests.stages.small_disk import fill, small_disk
from tests.switching import DEADLINES, SwitchHost, answers, wait_until

__all__ = ["small_disk"]

SLOW = ("--load-s", "2")


def half_done(host: SwitchHost, *, frm: bool = True, phase: str = "readying") -> Cutover:
    """An open switch from `old` (or from nothing) to `new`, whose run and process were killed while the new engine loaded."""
    old = host.serve(host.release("old")) if frm else None
    runner = host.start_runner(old, host.release("new", args=SLOW), "stay")
    cutover = host.wait_for_phase(phase)
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()
    host.kill_switch(cutover)
    wait_until(lambda: read_lock(host.state) is None, what="the lock of the dead switch")
    return cutover


def test_the_host_is_kept_for_who_takes_it_back(switch_host: SwitchHost) -> None:
    """Nobody else gets it between a switch's death and its way back; who recovers does, and the old release answers."""
    half_done(switch_host)
    with pytest.raises(HostHeld, match="is to be taken back first"):
        acquire_lock(switch_host.state, run_id="other", what="another run")
    acquire_lock(switch_host.state, run_id="recoverer", what="a recovery", is_recovering=True)
    closed = recover(switch_host.context("recoverer"))
    assert closed and closed.outcome == "returned" and read_book(switch_host.state).current == "old"
    acquire_lock(switch_host.state, run_id="other", what="another run")
    release_lock(switch_host.state)


def test_a_restarted_switch_that_finds_the_host_held_tries_again(switch_host: SwitchHost) -> None:
    """It ends with 7, which its unit restarts, and touches nothing; it does not say that it is done."""
    cutover = half_done(switch_host)
    before = switch_host.engines()
    acquire_lock(switch_host.state, run_id="recoverer", what="a recovery", is_recovering=True)
    argv = [sys.executable, "-m", "modelpivot.cli.internal", "switch", cutover.id]
    done = subprocess.run(argv, env=os.environ | to_environment(switch_host.config), capture_output=True, text=True, check=False)
    assert (done.returncode, switch_host.engines()) == (ExitCode.HELD, before) and "is held by a recovery" in done.stderr
    assert read_cutover(switch_host.state) is not None
    release_lock(switch_host.state)


def test_what_was_asked_for_by_a_run_that_let_go_does_not_go_forward(switch_host: SwitchHost) -> None:
    """A switch process that comes late finds no run behind it: closed, and what serves was not touched."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    late = Cutover(
        id="late", run_id=context.run.id, from_release="old", to_release="new", deadlines=DEADLINES, lock_token="gone", created_at=1.0
    )
    write_cutover(switch_host.state, late)
    closed = carry_out(switch_host.config, switch_host.state, "late")
    assert closed and closed.outcome == "not_started" and "let go of the host" in closed.reason
    assert answers(old) and switch_host.supervisor.processes(new) == [] and read_cutover(switch_host.state) is None


def test_a_switch_process_that_cannot_be_started_leaves_no_intent(switch_host: SwitchHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever kept it from starting: the intent is closed, so that nobody carries it out later."""

    def fail(*_: object, **__: object) -> None:
        raise CommandFailed("systemd-run: not within 60 s")

    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    monkeypatch.setattr(ProcessSupervisor, "start_switch", fail)
    context = switch_host.context()
    with pytest.raises(CommandFailed):
        start_switch(context, to=new, frm=old)
    closed = read_cutover_of_run(switch_host.state, context.run.id)
    assert closed and closed.outcome == "not_started" and "systemd-run" in closed.reason
    assert answers(old) and read_cutover(switch_host.state) is None


@pytest.mark.parametrize("is_loading", [True, False])
def test_the_current_release_comes_up_though_its_recovery_died(switch_host: SwitchHost, is_loading: bool) -> None:
    """Down, and started by a recovery that died with the machine: at boot it is neither stopped for good nor called current before it answers."""
    switch_host.make_current(switch_host.release("new", args=SLOW))
    new = switch_host.release("new", args=SLOW)
    cutover = half_done(switch_host, frm=False)
    if not is_loading:
        switch_host.supervisor.stop(new, timeout_s=1)
    assert recover_at_boot(switch_host.config, switch_host.state) is not None
    closed = switch_host.wait_closed(cutover.run_id)
    assert (closed.outcome, answers(new), len(switch_host.engines())) == ("promoted", True, 1), closed


def test_a_first_release_that_was_proved_comes_up_after_a_boot(switch_host: SwitchHost) -> None:
    """Unconfirmed, with nothing before it: the machine went down, and it serves again and is current; a person's no still counts."""
    new = switch_host.release("new")
    context = switch_host.context()
    cutover = follow_switch(context, start_switch(context, to=new, frm=None), until=is_unconfirmed)
    switch_host.kill_switch(cutover)
    switch_host.supervisor.stop(new, timeout_s=1)
    closed = recover(context)
    assert closed and closed.outcome == "promoted" and answers(new) and read_book(switch_host.state).current == "new"


def test_a_switch_that_was_closed_before_the_machine_went_down_stays_closed(switch_host: SwitchHost) -> None:
    """Its run's folder holds the end, the state still the open intent: at boot nothing is taken back."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    closed = switch_host.switch(old, new)
    assert closed.outcome == "promoted"
    opened = closed.model_copy(update={"phase": "unconfirmed", "outcome": None})
    write_cutover(switch_host.state, opened)
    assert recover_at_boot(switch_host.config, switch_host.state) is None
    assert read_cutover(switch_host.state) is None and answers(new)


def test_a_disk_that_fills_up_before_the_stop_keeps_the_switch_from_it(small_disk: Path) -> None:
    """What is to be on disk before anything is touched is there, or nothing is touched; later a full disk stops nothing."""
    host = SwitchHost(small_disk)
    cutover = Cutover(id="x", run_id="x", from_release="old", to_release="new", deadlines=DEADLINES, lock_token="t", created_at=1.0)
    hand = Hand(host.state, cutover, host.supervisor, Client([], state=host.state))
    host.state.root.mkdir(parents=True, exist_ok=True)
    hand.enter("warming")
    fill(small_disk)
    with pytest.raises(OSError, match="No space left"):
        hand.enter("draining")
    assert hand.cutover.phase == "warming"
    hand.rewrite(phase="returning")
    assert hand.is_returning


def test_bytes_that_cannot_be_given_back_do_not_stop_the_way_back(switch_host: SwitchHost) -> None:
    """A disk that turned read-only, played by a folder where the reserve lies: the old release comes back all the same."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", args=SLOW)
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    seen = switch_host.wait_for_phase("readying")
    switch_host.state.reserve.unlink()
    switch_host.state.reserve.mkdir()
    assert seen.switch is not None
    os.kill(seen.switch.pid, signal.SIGTERM)
    closed = follow_switch(context, cutover, until=is_closed)
    assert closed.outcome == "returned" and answers(old), closed
