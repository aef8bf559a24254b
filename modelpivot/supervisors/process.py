"""Engines as detached process groups, for hosts without systemd. Needs /proc.

<state>/releases/<id>/unit.json     token and main process, written before the start and again after it
                      log, log.1    output since the last start, and of the start before
"""

import contextlib
import os
import pwd
import secrets
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

import modelpivot
from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.files import digest_text, read_model, write_model
from modelpivot.host import is_alive, spawn_detached
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.models.release import Release
from modelpivot.state.paths import StatePaths
from modelpivot.supervisors.lineage import TOKEN_VARIABLE, read_unit_processes
from modelpivot.supervisors.protocol import UnitStatus
from modelpivot.waiting import WaitedTooLong, wait_for

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TMPDIR")
UNIT_VARIABLE = "MODELPIVOT_UNIT"
KILL_S = 15.0
"""Seconds that a process may take to go after SIGKILL: one in an uninterruptible driver call goes late."""


class Unit(Frozen):
    """What is remembered of a release's process (`unit.json`)."""

    token: str
    argv_digest: str
    main: ProcessId | None = None
    """None: the start was begun and not recorded as done."""
    known: list[ProcessId] = Field(default_factory=list)
    """Processes seen to be of the unit when its stop began."""
    is_stopping: bool = False
    """True: a stop was begun; it is finished before anything else."""
    is_stopped: bool = False


class ProcessSupervisor:
    """Starts and stops engines as process groups of their own; keeps nothing in memory, so that any process may go on where another ended."""

    name = "process"

    def __init__(self, state: StatePaths) -> None:
        self._state = state

    def prepare(self, release: Release) -> None:
        """Nothing to do: a process needs nothing before its start."""

    def enable(self, release: Release) -> None:
        """Nothing to do: without systemd nothing is started at boot."""

    def disable(self, release: Release) -> None:
        """Nothing to do, as with `enable`."""

    def forget(self, release: Release) -> None:
        """Nothing to do: what starts a process lies with its release."""

    def is_host_stopping(self) -> bool:
        """False: nobody tells a process why it is told to end."""
        return False

    def start(self, release: Release) -> UnitStatus:
        """Start the unit; nothing to do when it runs and no stop of it was begun. CommandFailed when the binary is missing."""
        unit = self._read(release)
        if unit and not unit.is_stopping and self.status(release).state == "running":
            return self.status(release)
        return self._launch(release, release.start.argv)

    def start_gated(self, release: Release, argv: Sequence[str]) -> UnitStatus:
        """The same with another command line: the process that waits at the gate is the engine's own when it is open."""
        return self._launch(release, argv)

    def _launch(self, release: Release, argv: Sequence[str]) -> UnitStatus:
        self.stop(release, timeout_s=release.deadlines.stop_s)
        environment = _environment(release)
        unit = Unit(token=secrets.token_hex(16), argv_digest=digest_text(*release.start.argv))
        self._write(release, unit)
        log = self.log_path(release)
        with contextlib.suppress(FileNotFoundError):
            log.replace(log.with_name("log.1"))
        own = {UNIT_VARIABLE: release.id, TOKEN_VARIABLE: unit.token}
        main = spawn_detached(argv, env=environment | own, log=log, cwd=release.start.working_directory)
        self._write(release, unit.model_copy(update={"main": main}))
        return self.status(release)

    def stop(self, release: Release, *, timeout_s: float) -> None:
        """SIGTERM to the unit, SIGKILL after `timeout_s`; nothing of it is left afterwards, or CommandFailed names what is.

        Nothing to do when the unit was never started.
        """
        unit = self._read(release)
        if unit is None:
            return
        known = self._processes(unit)
        unit = unit.model_copy(update={"known": known, "is_stopping": True})
        self._note(release, unit)
        for sign, deadline_s in ((signal.SIGTERM, timeout_s), (signal.SIGKILL, KILL_S)):
            if self._is_ended(unit, sign, deadline_s):
                self._note(release, unit.model_copy(update={"is_stopping": False, "is_stopped": True}))
                return
        left = ", ".join(f"{process.pid}" for process in self._processes(unit))
        raise CommandFailed(
            f"{release.id}: processes {left} are still there {KILL_S:g} s after SIGKILL",
            argv=release.start.argv,
            hint="they hang in the kernel, most likely in the GPU driver: look at dmesg; the host may need a reboot",
        )

    def _is_ended(self, unit: Unit, sign: signal.Signals, deadline_s: float) -> bool:
        """Signal the unit and wait. A main process that ends leaves its children to us: they get the signal when it is gone."""
        signalled: set[ProcessId] = set()

        def read() -> list[ProcessId]:
            living = self._processes(unit)
            for process in _next_to_signal(unit, living, sign, signalled):
                signalled.add(process)
                send_signal(process, sign)
            return living

        try:
            wait_for(read, lambda living, _: not living or None, what="the unit's end", deadline_s=deadline_s, interval_s=0.1)
        except WaitedTooLong:
            return False
        return True

    def status(self, release: Release) -> UnitStatus:
        """running: its main process lives; stopped: never started, or by `stop`; failed: it ended by itself."""
        unit = self._read(release)
        if unit is None or unit.is_stopped:
            return UnitStatus(state="stopped")
        if unit.main is not None and is_alive(unit.main):
            return UnitStatus(state="running", main=unit.main)
        return UnitStatus(state="failed", main=unit.main)

    def processes(self, release: Release) -> list[ProcessId]:
        """Every living process proved to be of this unit, those that left its group included."""
        unit = self._read(release)
        return self._processes(unit) if unit else []

    def log_path(self, release: Release) -> Path:
        """The engine's output since its last start."""
        return self._state.release(release.id).log

    def start_switch(self, argv: Sequence[str], *, env: Mapping[str, str], log: Path) -> ProcessId:
        """Start the switch in a session of its own, with `env` beside what every process needs; CommandFailed when it does not start."""
        root = str(Path(modelpivot.__file__).parents[1])
        python_path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._state.root.mkdir(parents=True, exist_ok=True)
        return spawn_detached(argv, env=_passed_on() | {"PYTHONPATH": python_path} | dict(env), log=log, cwd=self._state.root)

    def _processes(self, unit: Unit) -> list[ProcessId]:
        return read_unit_processes(unit.main, unit.token, unit.known)

    def _read(self, release: Release) -> Unit | None:
        return read_model(self._state.release(release.id).unit, Unit)

    def _note(self, release: Release, unit: Unit) -> None:
        """Write as far as the disk takes it: a full one must not keep an engine from being stopped, and what stands there finds it again."""
        with contextlib.suppress(OSError):
            self._write(release, unit)

    def _write(self, release: Release, unit: Unit) -> None:
        write_model(self._state.release(release.id).unit, unit, mode=0o600)


def _next_to_signal(unit: Unit, living: list[ProcessId], sign: signal.Signals, signalled: set[ProcessId]) -> list[ProcessId]:
    """SIGTERM goes to the main process alone while it lives, since it ends its children in order; SIGKILL goes to all."""
    fresh = [process for process in living if process not in signalled]
    if sign is signal.SIGTERM and unit.main in living:
        return [process for process in fresh if process == unit.main]
    return fresh


def send_signal(process: ProcessId, sign: signal.Signals) -> None:
    """Signal this very process through a descriptor of it, so that a later one with its number is never hit; nothing to do when it is gone."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if is_alive(process):
            signal.pidfd_send_signal(handle, sign)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


def _passed_on() -> dict[str, str]:
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def _environment(release: Release) -> dict[str, str]:
    """The engine's whole environment. SPT_NOENV keeps it readable in /proc when the engine renames its processes."""
    if release.start.user is not None and release.start.user != pwd.getpwuid(os.geteuid()).pw_name:
        raise PreconditionError(
            f"{release.id} wants the user {release.start.user!r}; the process supervisor starts engines as its own user",
            hint="leave the user out, or run modelpivot as that user",
        )
    key = read_api_key(release)
    return _passed_on() | release.start.environment | ({"VLLM_API_KEY": key} if key else {}) | {"SPT_NOENV": "1"}


def read_api_key(release: Release) -> str | None:
    """The key of the release's endpoint; None: it needs none. PreconditionError when its file cannot be read."""
    path = release.endpoint.api_key_file
    if path is None:
        return None
    try:
        return path.read_text().strip()
    except OSError as error:
        raise PreconditionError(f"the API key {path} cannot be read: {error.strerror}", hint="put the key there, mode 0600") from error
