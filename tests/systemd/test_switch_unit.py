"""The switch as a transient unit, with a script in its place."""

import signal
from pathlib import Path

import pytest

from modelpivot.errors import CommandFailed
from modelpivot.models.cutover import ProcessId
from modelpivot.supervisors.notify import pulse
from modelpivot.supervisors.process import send_signal
from modelpivot.supervisors.switch_unit import start_switch_unit
from tests.lab.sandbox import Sandbox

UNIT = "modelpivot-switch-test.service"
LOG = Path("/var/lib/modelpivot/runs/test/logs/switch.log")


def start(sandbox: Sandbox, script: str, *, watchdog_s: float = 150, env: dict[str, str] | None = None) -> ProcessId:
    """A bash script as the switch."""
    argv = ["/bin/bash", "-c", f"echo began; {script}"]
    return sandbox.call(start_switch_unit, UNIT, argv, env=env or {}, log=LOG, folder=LOG.parent, watchdog_s=watchdog_s)


def wait_log(sandbox: Sandbox, text: str, times: int = 1) -> None:
    """Until the switch's output has the text at least so often: what is started again and again goes on."""
    sandbox.shell(f"until [[ $(grep -c '{text}' {LOG}) -ge {times} ]]; do sleep 0.05; done")


def assert_started_once(sandbox: Sandbox) -> None:
    """It began, and was not started again."""
    wait_log(sandbox, "began")
    assert sandbox.shell(f"grep -c began {LOG}") == "1"


def test_switch_has_its_environment_and_log(sandbox: Sandbox) -> None:
    """What is handed on arrives as it stands; output goes to the log; the process named is the script's."""
    process = start(sandbox, 'printf "%s|" "$A" "$PYTHONPATH"; echo $$; exec sleep infinity', env={"A": "100% $HOME 'x' \"y\""})
    wait_log(sandbox, r"100% $HOME .x. \"y\"|.*|" + str(process.pid))


def test_killed_switch_is_started_again(sandbox: Sandbox) -> None:
    """SIGKILL of the switch: another process carries on within seconds, as often as it happens."""
    for times in (1, 2, 3, 4, 5, 6):
        process = start(sandbox, "exec sleep infinity")
        wait_log(sandbox, "began", times)
        sandbox.call(send_signal, process, signal.SIGKILL)


def test_start_of_a_living_switch_does_nothing(sandbox: Sandbox) -> None:
    """The same process is named; a second one is not started."""
    assert start(sandbox, "exec sleep infinity") == start(sandbox, "exec sleep infinity")
    assert_started_once(sandbox)


@pytest.mark.parametrize("code", [0, 3, 4, 5])
def test_switch_that_is_over_stays_over(sandbox: Sandbox, code: int) -> None:
    """Done, blocked, switched back, nothing serves: the unit is gone, nobody starts it again, and nothing on the host counts as failed."""
    start(sandbox, f"sleep 2; exit {code}")
    sandbox.shell(f"until [[ $(systemctl show {UNIT} -p LoadState --value) == not-found ]]; do sleep 0.05; done")
    assert sandbox.shell("systemctl is-system-running || true") == "running"
    assert_started_once(sandbox)


@pytest.mark.parametrize("sign", ["HUP", "INT", "TERM"])
def test_switch_that_a_mild_signal_ends_is_started_again(sandbox: Sandbox, sign: str) -> None:
    """systemd counts an end by these as a good one: of a switch, which closes what it opened first, it is a death."""
    process = start(sandbox, "exec sleep infinity")
    wait_log(sandbox, "began")
    sandbox.shell(f"kill -{sign} {process.pid}")
    wait_log(sandbox, "began", 2)


def test_switch_that_is_stopped_by_name_stays_stopped(sandbox: Sandbox) -> None:
    """Who orders systemd to stop it gets that."""
    start(sandbox, "exec sleep infinity")
    wait_log(sandbox, "began")
    sandbox.shell(f"systemctl stop {UNIT}; sleep 1.5")
    assert sandbox.show(UNIT, "LoadState") == "not-found"
    assert_started_once(sandbox)


@pytest.mark.parametrize("code", [7, 143])
def test_switch_that_is_not_over_is_tried_again(sandbox: Sandbox, code: int) -> None:
    """Held by somebody else, or told to end before it could close anything: no limit of starts ends it."""
    start(sandbox, f"[ $(grep -c began {LOG}) -ge 7 ] && exec sleep infinity; exit {code}")
    wait_log(sandbox, "began", 7)


def test_crashed_switch_is_started_again(sandbox: Sandbox) -> None:
    """An exit code that says nothing about the service is a death."""
    start(sandbox, "sleep 0.3; exit 1")
    wait_log(sandbox, "began", 2)


def test_silent_switch_is_killed_and_started_again(sandbox: Sandbox) -> None:
    """A switch that says nothing for the watchdog's time hangs: it is killed, and another process carries on."""
    start(sandbox, "exec sleep infinity", watchdog_s=1)
    wait_log(sandbox, "began", 2)
    assert "watchdog" in "\n".join(sandbox.journal(UNIT)).lower()


def test_pulse_keeps_the_watchdog_quiet(sandbox: Sandbox) -> None:
    """A process that pulses wherever it waits outlives a watchdog of three seconds."""
    import sys

    code = f"import sys, time; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); from {pulse.__module__} import pulse\n"
    code += "for _ in range(60):\n    pulse(); time.sleep(0.1)\nprint('quiet')"
    sandbox.call(start_switch_unit, UNIT, [sys.executable, "-c", code], env={}, log=LOG, folder=LOG.parent, watchdog_s=3)
    wait_log(sandbox, "quiet")


def test_switch_that_cannot_start_is_told(sandbox: Sandbox) -> None:
    """A missing interpreter raises, and is not tried for ever."""
    with pytest.raises(CommandFailed):
        sandbox.call(start_switch_unit, UNIT, ["/nosuch/python"], env={}, log=LOG, folder=LOG.parent)
