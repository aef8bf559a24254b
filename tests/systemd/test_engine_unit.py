"""The engine of a release as a unit, on a real systemd."""

import signal
import threading

import pytest

from modelpivot.errors import CommandFailed
from modelpivot.models.release import Endpoint, Release
from modelpivot.supervisors.process import send_signal
from modelpivot.supervisors.systemctl import show
from modelpivot.supervisors.systemd import SystemdSupervisor
from tests.switching import wait_until
from tests.systemd.units import DEADLINES, PYTHON, ROOT, Units, make_release

UNIT = "modelpivot-new.service"


def test_start_serves_and_stop_leaves_nothing(units: Units) -> None:
    """A started release answers, its main process is its unit's, and after the stop no process of it lives."""
    release = units.release("new")
    status = units.start(release)
    units.wait_answers(release)
    assert status.state == "running" and status.main in units.processes(release)
    units.stop(release)
    assert units.status(release).state == "stopped"
    assert units.processes(release) == [] and not units.is_alive(status.main)


def test_start_of_a_running_unit_does_nothing(units: Units) -> None:
    """A second start keeps the process of the first."""
    release = units.release("new")
    assert units.start(release) == units.start(release)


def test_never_started_is_stopped(units: Units) -> None:
    """A release whose unit was never there is stopped, without processes, and stopping or disabling it does nothing."""
    release = units.release("new")
    units.stop(release)
    units.sandbox.call(units.supervisor.disable, release)
    assert (units.status(release).state, units.processes(release)) == ("stopped", [])


def test_missing_program_is_refused_before_anything_is_written(units: Units) -> None:
    """H6: a unit whose program is not there is no good unit; its file is not written."""
    release = units.write(make_release("new", ["/nosuch/python", "-m", "engine"]))
    with pytest.raises(CommandFailed, match="/nosuch/python"):
        units.sandbox.call(units.supervisor.prepare, release)
    assert units.sandbox.shell(f"ls /etc/systemd/system/{UNIT} 2>/dev/null || true") == ""


def test_program_that_vanished_fails_the_start(units: Units) -> None:
    """H6: a program that went after the unit was written fails the start at once, with systemd's words, and systemd does not try on."""
    units.sandbox.shell("cp /bin/sleep /opt/engine")
    release = units.write(make_release("new", ["/opt/engine", "infinity"]))
    units.sandbox.call(units.supervisor.prepare, release)
    units.sandbox.shell("rm /opt/engine")
    with pytest.raises(CommandFailed, match="No such file or directory"):
        units.start(release)
    assert units.sandbox.show(UNIT, "ActiveState") == "inactive"


def test_stop_ends_an_engine_that_ignores_sigterm(units: Units) -> None:
    """H6: a stop that hits its timeout ends the unit all the same, clears the failed state it leaves, and the next start works."""
    release = units.release("new", fault="ignore_term", deadlines=make_release("x", []).deadlines.model_copy(update={"stop_s": 1}))
    main = units.start(release).main
    units.wait_answers(release)
    units.stop(release, timeout_s=1)
    assert main and not units.is_alive(main)
    assert "timed out" in "\n".join(units.sandbox.journal(UNIT))
    assert units.sandbox.show(UNIT, "ActiveState") == "inactive"
    assert units.start(release).state == "running"


def test_timeout_asked_for_counts_before_the_units_own(units: Units) -> None:
    """A stop with a shorter timeout than the unit's text ends the engine at that."""
    release = units.release("new", fault="ignore_term", deadlines=make_release("x", []).deadlines.model_copy(update={"stop_s": 600}))
    units.start(release)
    units.wait_answers(release)
    units.stop(release, timeout_s=0.5)
    assert units.processes(release) == [] and units.sandbox.show(UNIT, "ActiveState") == "inactive"


def stop_while_killed(supervisor: SystemdSupervisor, release: Release) -> None:
    """Stop it, and kill its processes from a second thread once systemd has begun to stop it."""

    def kill() -> None:
        wait_until(lambda: show(UNIT)["ActiveState"] == "deactivating", what="systemd to stop it")
        for process in supervisor.processes(release):
            send_signal(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    supervisor.stop(release, timeout_s=600)
    killer.join()


def test_an_engine_that_is_killed_during_its_stop_is_stopped(units: Units) -> None:
    """What is spent is killed while systemd still waits for it: the stop ends with it, its failure is cleared, and nothing starts it again."""
    release = units.release("new", fault="ignore_term", deadlines=make_release("x", []).deadlines.model_copy(update={"stop_s": 600}))
    units.start(release)
    units.wait_answers(release)
    units.sandbox.call(stop_while_killed, units.supervisor, release)
    assert units.processes(release) == [] and units.sandbox.show(UNIT, "ActiveState") == "inactive"


def test_start_limit_is_no_hindrance(units: Units) -> None:
    """H6: after systemd has refused a unit for too many starts, our start works."""
    release = units.release("new")
    units.start(release)
    units.sandbox.shell(f"for i in 1 2 3 4 5 6; do systemctl restart {UNIT} || true; done")
    assert units.sandbox.show(UNIT, "Result") == "start-limit-hit"
    assert units.start(release).state == "running"


def test_text_changed_by_hand_is_put_back(units: Units) -> None:
    """A unit that somebody edited runs the release's text again at the next start."""
    release = units.release("new")
    units.start(release)
    units.stop(release)
    units.sandbox.shell(f"sed -i 's/--name/--nam/' /etc/systemd/system/{UNIT}; systemctl daemon-reload")
    units.start(release)
    units.wait_answers(release)


def test_text_that_systemd_has_not_read_yet_is_read(units: Units) -> None:
    """H6: the right text on disk and another one in systemd's memory: the start runs the one on disk."""
    release = units.release("new")
    units.sandbox.call(units.supervisor.prepare, release)
    path = f"/etc/systemd/system/{UNIT}"
    units.sandbox.shell(
        f"cp {path} /run/right; sed -i 's/^ExecStart=.*/ExecStart=sleep 7/' {path}; systemctl daemon-reload; cat /run/right > {path}"
    )
    units.start(release)
    units.wait_answers(release)


def test_written_and_reloaded_only_if_different(units: Units) -> None:
    """A second prepare changes neither the file nor what systemd has read."""
    release = units.release("new")
    units.sandbox.call(units.supervisor.prepare, release)
    look = "stat -c %Y-%i /etc/systemd/system/modelpivot-*; journalctl --sync; journalctl _PID=1 -o cat | grep -c '^Reloading' || true"
    before = units.sandbox.shell(look)
    units.sandbox.call(units.supervisor.prepare, release)
    assert units.sandbox.shell(look) == before


def test_masked_unit_is_not_overridden(units: Units) -> None:
    """A unit that a person masked is not started behind their back."""
    release = units.release("new")
    units.sandbox.shell(f"systemctl mask {UNIT}")
    with pytest.raises(Exception, match="masked"):
        units.start(release)


def test_children_are_processes_of_the_unit_and_end_with_it(units: Units) -> None:
    """H4: a child in a session of its own that ignores SIGTERM is counted, and ended by the stop."""
    release = units.release("new", fault="child")
    units.start(release)
    units.wait_answers(release)
    processes = units.processes(release)
    assert len(processes) == 2
    units.stop(release, timeout_s=1)
    assert not any(units.is_alive(process) for process in processes)


def test_child_that_left_the_control_group_is_found_and_ended(units: Units) -> None:
    """H4: a child that was moved to another control group is the unit's all the same, and ended, also by a process that never saw it there."""
    release = units.release("new", fault="child")
    main = units.start(release).main
    units.wait_answers(release)
    child = next(process for process in units.processes(release) if process != main)
    units.sandbox.shell(f"mkdir -p /sys/fs/cgroup/elsewhere; echo {child.pid} > /sys/fs/cgroup/elsewhere/cgroup.procs")
    units.sandbox.shell(f"systemctl stop {UNIT}")
    assert units.processes(release) == [child]
    units.stop(release, timeout_s=0.5)
    assert not units.is_alive(child)


def test_leftovers_are_found_after_systemd_forgot_the_unit(units: Units) -> None:
    """H4: what is left of a unit whose file is gone from systemd is still known, and ended."""
    release = units.release("new", fault="child")
    main = units.start(release).main
    units.wait_answers(release)
    child = next(process for process in units.processes(release) if process != main)
    units.sandbox.shell(f"mkdir -p /sys/fs/cgroup/elsewhere; echo {child.pid} > /sys/fs/cgroup/elsewhere/cgroup.procs")
    units.sandbox.shell(f"systemctl stop {UNIT}; rm /etc/systemd/system/{UNIT}; systemctl daemon-reload; systemctl reset-failed")
    assert units.processes(release) == [child]
    units.stop(release, timeout_s=0.5)
    assert not units.is_alive(child)


@pytest.mark.parametrize("name", ["invocation.json", "log.cursor"])
def test_a_spoiled_file_of_a_release_keeps_nobody_from_stopping_it(units: Units, name: str) -> None:
    """What was remembered for later cannot be read: the unit is known by what systemd tells, stopped, and started again."""
    release = units.release("new")
    units.start(release)
    units.wait_answers(release)
    assert "startup complete" in units.read_log(release)
    units.sandbox.write(ROOT / "releases/new" / name, "{garbage")
    assert len(units.processes(release)) == 1
    units.stop(release)
    assert units.processes(release) == []
    assert units.start(release).state == "running"
    units.wait_answers(release)
    assert "startup complete" in units.read_log(release)


def test_strangers_are_not_counted_and_not_touched(units: Units) -> None:
    """A process of the same program in another unit is no process of the release, and outlives its stop."""
    release = units.release("new")
    units.start(release)
    units.sandbox.shell("systemd-run --quiet --unit=test-stranger sleep infinity")
    stranger = int(units.sandbox.show("test-stranger", "MainPID"))
    assert stranger not in [process.pid for process in units.processes(release)]
    units.stop(release)
    assert units.sandbox.show("test-stranger", "MainPID") == str(stranger)


def test_death_is_seen_while_systemd_waits_to_restart(units: Units) -> None:
    """A killed engine is failed with its signal while systemd waits its five seconds to start it again, and then serves again by itself."""
    release = units.release("new")
    main = units.start(release).main
    units.wait_answers(release)
    assert main
    units.sandbox.call(send_signal, main, signal.SIGKILL)
    assert units.wait(lambda: failure(units, release), what="the failure") == -9
    units.wait_answers(release)


def failure(units: Units, release: Release) -> int | None:
    """Exit code of the engine that died, from the look that saw it dead: a moment later systemd may have started it again."""
    status = units.status(release)
    return status.exit_code if status.state == "failed" else None


def test_program_that_ends_at_once_was_started(units: Units) -> None:
    """Dead before anybody looked: it was executed, so its end is told by the status, and the reason by its own words."""
    release = units.release("new")
    release = units.write(
        release.model_copy(update={"start": release.start.model_copy(update={"argv": ["/bin/sh", "-c", "echo no GPU; exit 3"]})})
    )
    for _ in range(3):
        units.start(release)
        assert units.wait(lambda: units.status(release).exit_code, what="its end") == 3
        assert "no GPU" in units.read_log(release)
        units.stop(release)


def test_stop_ends_a_unit_that_waits_to_be_restarted(units: Units) -> None:
    """A stop between death and restart: the unit does not come back."""
    release = units.release("new", fault="die_at_start")
    units.start(release)
    units.wait(lambda: units.sandbox.show(UNIT, "SubState") == "auto-restart", what="the death")
    units.stop(release)
    assert units.sandbox.show(UNIT, "ActiveState") == "inactive"


def test_start_of_a_unit_that_waits_to_be_restarted_is_not_kept_waiting(units: Units) -> None:
    """A start between death and restart executes the engine at once, and is none that failed."""
    release = units.release("new", fault="die_at_start")
    for _ in range(2):
        units.start(release)
        units.wait(lambda: units.sandbox.show(UNIT, "SubState") == "auto-restart", what="the death")
    assert units.read_log(release).count("Engine core initialization failed") == 1


def hold_up(units: Units, by: str) -> None:
    """What the unit of the release waits for at its start: another unit, or its own preparations; both end by themselves."""
    units.sandbox.write("/etc/systemd/system/test-fsck.service", f"[Service]\nType=oneshot\nExecStart=/bin/sleep {HELD_UP_S}\n")
    units.sandbox.write(f"/etc/systemd/system/{UNIT}.d/own.conf", HELD_UP_BY[by])
    units.sandbox.shell("systemctl daemon-reload")


HELD_UP_S = 12
HELD_UP_BY = {
    "another unit": "[Unit]\nWants=test-fsck.service\nAfter=test-fsck.service\n",
    "its preparations": f"[Service]\nExecStartPre=/bin/sleep {HELD_UP_S}\n",
}


@pytest.mark.parametrize("by", HELD_UP_BY)
def test_a_start_that_is_held_up_goes_on_by_itself(units: Units, by: str) -> None:
    """A check of a disk, a mount, a network: the unit counts as running, held up, nobody stops it, and then it answers."""
    hold_up(units, by)
    release = units.release("new")
    status = units.start(release)
    assert (status.state, status.main, status.is_held_up) == ("running", None, True)
    assert units.start(release).is_held_up
    units.wait_answers(release)
    assert not units.status(release).is_held_up


@pytest.mark.parametrize("by", HELD_UP_BY)
def test_a_switch_waits_for_what_holds_its_unit_up(units: Units, by: str) -> None:
    """12 s until systemd comes to the engine, against 8 s without progress: it is no silence of the engine's."""
    hold_up(units, by)
    deadlines = DEADLINES.model_copy(update={"ready_s": HELD_UP_S - 4})
    old, new = units.serve(units.release("old")), units.release("new", deadlines=deadlines)
    assert units.wait_phase(units.begin_switch(old, new), "closed").outcome == "promoted"
    units.assert_serves(new, old)


def test_a_switch_hears_who_asks_while_its_unit_is_held_up(units: Units) -> None:
    """Whoever asks for the way back needs not wait for systemd."""
    hold_up(units, "another unit")
    units.sandbox.shell(f"sed -i 's/sleep {HELD_UP_S}/sleep 600/' /etc/systemd/system/test-fsck.service; systemctl daemon-reload")
    old, new = units.serve(units.release("old")), units.release("new", deadlines=DEADLINES.model_copy(update={"ready_max_s": 600}))
    cutover = units.begin_switch(old, new)
    units.wait(lambda: units.status(new).is_held_up, what="the unit to be held up")
    units.decide("return")
    assert units.wait_phase(cutover, "closed").outcome == "returned"
    units.assert_serves(old, new)


def test_api_key_is_in_a_private_file_alone(units: Units) -> None:
    """The engine has the key; neither unit file nor `systemctl show` has it, and its file is root's alone."""
    key = 'se"cr et$HOME`x`\\n'
    units.sandbox.write(ROOT / "api_key", f"{key}\n", mode=0o600)
    endpoint = Endpoint(bind="127.0.0.1", port=8000, served_name="new", api_key_file=ROOT / "api_key")
    release = units.write(units.dumper("new", [], {}).model_copy(update={"endpoint": endpoint}))
    units.start(release)
    assert units.read_dump()[1]["VLLM_API_KEY"] == key
    assert "cr et" not in units.sandbox.shell(f"systemctl cat {UNIT}; systemctl show {UNIT}")
    assert units.sandbox.shell(f"stat -c %a {ROOT}/releases/new/secrets.env") == "600"


def test_own_user(units: Units) -> None:
    """A release with a user runs as that user, who may write the release's caches."""
    units.sandbox.shell("id svc >/dev/null 2>&1 || useradd --system svc")
    release = units.dumper("new", [], {})
    release = units.write(release.model_copy(update={"start": release.start.model_copy(update={"user": "svc"})}))
    release = units.write(release.model_copy(update={"start": release.start.model_copy(update={"argv": [PYTHON, "-c", TOUCH]})}))
    units.start(release)
    assert units.wait(lambda: units.sandbox.shell(f"stat -c %U {ROOT}/releases/new/caches/x 2>/dev/null || true"), what="the file") == "svc"


TOUCH = f"import time; open('{ROOT}/releases/new/caches/x', 'w').close(); time.sleep(3600)"
