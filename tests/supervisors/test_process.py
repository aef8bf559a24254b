"""Engines as detached process groups: started once, known again by anybody, ended whole, and nobody else touched."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.host import is_alive, read_process_id
from modelpivot.models.release import Release
from modelpivot.supervisors.process import ProcessSupervisor, Unit
from modelpivot.supervisors.protocol import Supervisor
from tests.switching import SwitchHost, answers, is_gone, wait_until


def _up(host: SwitchHost, release: Release) -> Release:
    host.supervisor.start(release)
    wait_until(lambda: answers(release), what="an answer")
    return release


def test_keeps_the_protocol(switch_host: SwitchHost) -> None:
    """The process supervisor is a Supervisor (the type checker holds it)."""
    supervisor: Supervisor = switch_host.supervisor
    assert supervisor.name == "process"


def test_never_started(switch_host: SwitchHost) -> None:
    """A release that was never started is stopped, has no processes, and stopping it does nothing."""
    release = switch_host.release("one")
    switch_host.supervisor.stop(release, timeout_s=1)
    assert switch_host.supervisor.status(release).state == "stopped"
    assert switch_host.supervisor.processes(release) == []


def test_start_is_idempotent(switch_host: SwitchHost) -> None:
    """A second start of a running unit leaves the same process."""
    release = _up(switch_host, switch_host.release("one"))
    first = switch_host.supervisor.status(release).main
    assert ProcessSupervisor(switch_host.state).start(release).main == first


def test_stop_leaves_nothing(switch_host: SwitchHost) -> None:
    """After a stop no process of the unit lives and its state is stopped."""
    release = _up(switch_host, switch_host.release("one"))
    switch_host.supervisor.stop(release, timeout_s=3)
    assert switch_host.engines() == []
    assert switch_host.supervisor.status(release).state == "stopped"


def test_death_is_failed(switch_host: SwitchHost) -> None:
    """A main process that ended by itself makes the unit failed, and a later start brings it up again."""
    release = _up(switch_host, switch_host.release("one"))
    main = switch_host.supervisor.status(release).main
    assert main is not None
    os.kill(main.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(main), what="its death")
    assert switch_host.supervisor.status(release).state == "failed"
    assert switch_host.supervisor.start(release).state == "running"


def test_deaf_engine_is_killed(switch_host: SwitchHost) -> None:
    """An engine that ignores SIGTERM is gone after the timeout."""
    release = _up(switch_host, switch_host.release("one", fault="ignore_term"))
    switch_host.supervisor.stop(release, timeout_s=0.3)
    assert switch_host.engines() == []


def test_children_that_left_are_found(switch_host: SwitchHost) -> None:
    """A child with a session of its own that outlives its killed parent is still known, and ended by the stop (H4)."""
    release = _up(switch_host, switch_host.release("one", fault="child"))
    main = switch_host.supervisor.status(release).main
    assert main is not None
    os.kill(main.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(main), what="its death")
    left = ProcessSupervisor(switch_host.state).processes(release)
    assert len(left) == 1
    switch_host.supervisor.stop(release, timeout_s=0.2)
    assert not is_alive(left[0])


def test_half_begun_start_is_known(switch_host: SwitchHost) -> None:
    """A supervisor that died between the start and its record leaves an engine that is found by its token and ended."""
    release = _up(switch_host, switch_host.release("one"))
    path = switch_host.state.release("one").unit
    unit = Unit.model_validate_json(path.read_text())
    path.write_text(unit.model_copy(update={"main": None}).model_dump_json())
    assert [process.pid for process in switch_host.supervisor.processes(release)] == switch_host.engines()
    switch_host.supervisor.stop(release, timeout_s=3)
    assert switch_host.engines() == []


def test_begun_stop_is_finished_before_a_start(switch_host: SwitchHost) -> None:
    """A unit whose stop was begun by a process that died is stopped whole and started anew, since it may be about to end."""
    release = _up(switch_host, switch_host.release("one"))
    first = switch_host.supervisor.status(release).main
    path = switch_host.state.release("one").unit
    unit = Unit.model_validate_json(path.read_text())
    path.write_text(unit.model_copy(update={"is_stopping": True}).model_dump_json())
    assert switch_host.supervisor.start(release).main != first
    assert len(switch_host.engines()) == 1


def test_number_used_again(switch_host: SwitchHost) -> None:
    """A stranger that has the number of a dead main process, and its group, is neither counted nor ended."""
    release = _up(switch_host, switch_host.release("one"))
    switch_host.supervisor.stop(release, timeout_s=3)
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as stranger:
        same_number = read_process_id(stranger.pid)
        assert same_number is not None
        path = switch_host.state.release("one").unit
        unit = Unit.model_validate_json(path.read_text())
        main = same_number.model_copy(update={"start_time": same_number.start_time - 1})
        path.write_text(unit.model_copy(update={"main": main, "is_stopped": False}).model_dump_json())
        assert switch_host.supervisor.processes(release) == []
        assert switch_host.supervisor.status(release).state == "failed"
        switch_host.supervisor.stop(release, timeout_s=0.2)
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_log_of_the_start_before_is_kept(switch_host: SwitchHost) -> None:
    """The log holds the last start only; the one before lies beside it."""
    release = _up(switch_host, switch_host.release("one"))
    switch_host.supervisor.stop(release, timeout_s=3)
    _up(switch_host, release)
    log = switch_host.supervisor.log_path(release)
    assert log.read_text().count("Application startup complete") == 1
    assert log.with_name("log.1").read_text().count("Application startup complete") == 1


def test_environment_is_clean(switch_host: SwitchHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine gets the release's environment and a handful of ours, not whatever the run had."""
    monkeypatch.setenv("HF_TOKEN", "secret")
    release = _up(switch_host, switch_host.release("one"))
    environment = Path(f"/proc/{switch_host.engines()[0]}/environ").read_text().split("\0")
    assert not any(entry.startswith("HF_TOKEN") for entry in environment)
    assert {"MODELPIVOT_UNIT=one", "PYTHONUNBUFFERED=1"} <= set(environment)
    assert switch_host.supervisor.status(release).state == "running"


def test_missing_binary(switch_host: SwitchHost) -> None:
    """A binary that is not there is named at the start."""
    release = switch_host.release("one")
    broken = release.model_copy(update={"start": release.start.model_copy(update={"argv": ["/nowhere/python"]})})
    with pytest.raises(CommandFailed, match="/nowhere/python does not start"):
        switch_host.supervisor.start(broken)


def test_foreign_user(switch_host: SwitchHost) -> None:
    """A release with a user of its own is refused here instead of served as somebody else."""
    release = switch_host.release("one")
    foreign = release.model_copy(update={"start": release.start.model_copy(update={"user": "somebody-else"})})
    with pytest.raises(PreconditionError, match="somebody-else"):
        switch_host.supervisor.start(foreign)
