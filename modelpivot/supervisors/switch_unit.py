"""The switch as a transient systemd unit, and the boot unit that takes back what a switch left open. Needs root.

The switch outlives whoever started it; it is restarted when it dies, and killed when it goes silent (`notify.py`).
"""

import contextlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import modelpivot
from modelpivot.errors import CommandFailed
from modelpivot.host import read_process_id, run_command
from modelpivot.models.cutover import ProcessId
from modelpivot.models.result import ExitCode
from modelpivot.supervisors.systemctl import CALL_S, UnitFacts, clear_failure, show, systemctl
from modelpivot.supervisors.unit_environment import NAMED_BY_THE_UNIT, environment_file, write_unit_environment
from modelpivot.supervisors.unit_files import place_unit
from modelpivot.supervisors.unit_text import RECOVER_UNIT, render_recover
from modelpivot.waiting import wait_for

START_S = 30.0
PASSED_ON = ("PATH", "HOME", "LANG", "TZ")
ENDS = (ExitCode.DONE, ExitCode.BLOCKED, ExitCode.SWITCHED_BACK, ExitCode.NOTHING_SERVES)
"""Exit codes of a switch that is over; any other end, by whatever signal, is a death, or says that it wants to be tried again (HELD)."""
OVER = " ".join(str(int(code)) for code in ENDS)
WATCHDOG_S = 150.0
"""Seconds of silence until the switch is killed: its longest single call takes a minute."""
PROPERTIES = {
    "Type": "exec",
    # on-failure would take a death by SIGHUP, SIGINT, SIGTERM or SIGPIPE for a good end
    "Restart": "always",
    "RestartPreventExitStatus": OVER,
    "RestartSec": "1",
    # without a limit: one that gave up would leave the host with what the switch had stopped
    "StartLimitIntervalSec": "0",
    "SuccessExitStatus": OVER,
    "WatchdogSignal": "SIGKILL",
    "NotifyAccess": "main",
    # SIGTERM asks it to go back, which takes as long as the old release takes to load
    "TimeoutStopSec": "7200",
    "OOMScoreAdjust": "-500",
}


def start_switch_unit(
    unit: str, argv: Sequence[str], *, env: Mapping[str, str], log: Path, folder: Path, watchdog_s: float = WATCHDOG_S
) -> ProcessId:
    """The process that carries the switch out, told `env` by a file in `folder`. Nothing to do when the unit is there, also while it waits to be
    restarted.

    CommandFailed when it does not start.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    if show(unit).is_at_rest:
        clear_failure(unit)
        with contextlib.suppress(OSError):  # a full disk must not keep a switch from being taken back
            write_unit_environment(folder, env)
        own = {"StandardOutput": f"append:{log}", "StandardError": f"append:{log}", "WorkingDirectory": str(folder)}
        own |= {"EnvironmentFile": f"-{environment_file(folder)}", "WatchdogSec": f"{watchdog_s:g}"}
        _systemd_run(unit, argv, _passed_on() | {name: env[name] for name in NAMED_BY_THE_UNIT if name in env}, PROPERTIES | own)
    return wait_for(lambda: show(unit), _judge, what=f"the process of {unit}", deadline_s=START_S, interval_s=0.05)


def _judge(facts: UnitFacts, waited_s: float) -> ProcessId | None:
    if facts.main_pid and (process := read_process_id(facts.main_pid)):
        return process
    if facts.is_at_rest:
        raise CommandFailed(f"{facts} right after its start", hint=f"journalctl -u {facts.name}")
    return None


def _systemd_run(unit: str, argv: Sequence[str], env: Mapping[str, str], properties: Mapping[str, str]) -> None:
    settings = [f"--property={name}={value}" for name, value in properties.items()]
    variables = [f"--setenv={name}={value}" for name, value in env.items()]
    words = [word.replace("$", "$$") for word in argv]
    run_command(["systemd-run", "--quiet", "--collect", f"--unit={unit}", *settings, *variables, "--", *words], timeout_s=CALL_S)


def place_boot_unit(environment: Mapping[str, str], state: Path, foreign: Iterable[str]) -> None:
    """Put the boot unit in place, before the `foreign` units too, and enable it; nothing to do when it stands there alike."""
    argv = [sys.executable, "-m", "modelpivot.cli.internal", "recover", "--boot"]
    write_unit_environment(state, environment)
    plain = _import_path() | {"MODELPIVOT_STATE_DIR": str(state)}
    is_written = place_unit(RECOVER_UNIT, render_recover(argv, plain, environment_file(state), state, sorted(foreign)))
    if is_written or show(RECOVER_UNIT)["UnitFileState"] != "enabled":
        systemctl("enable", RECOVER_UNIT)


def _passed_on() -> dict[str, str]:
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | _import_path()


def _import_path() -> dict[str, str]:
    """So that the same modelpivot is found, installed or not."""
    root = str(Path(modelpivot.__file__).parents[1])
    return {"PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}
