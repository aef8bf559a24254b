"""Engines as systemd units, and the switch as a transient one. Needs root on a machine that runs under systemd 244 or later.

Keeps nothing in memory that a fact does not hold, so that any process may go on where another ended. Files: `unit_files.py`, `unit_log.py`.
"""

import contextlib
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from modelpivot.errors import CommandFailed
from modelpivot.files import read_model, write_atomic
from modelpivot.host import is_alive, read_process_id
from modelpivot.models.cutover import ProcessId
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.settings import to_environment
from modelpivot.state.paths import StatePaths
from modelpivot.supervisors.adopt import AdoptedFiles, read_adopted_units, restore_files
from modelpivot.supervisors.control_group import read_group_processes
from modelpivot.supervisors.gate_unit import place_gate, remove_gate
from modelpivot.supervisors.invocation import Invocation, read_invocation, remember_invocation, start_of
from modelpivot.supervisors.notify import pulse
from modelpivot.supervisors.process import KILL_S, read_api_key, send_signal
from modelpivot.supervisors.protocol import UnitStatus
from modelpivot.supervisors.switch_unit import place_boot_unit, start_switch_unit
from modelpivot.supervisors.systemctl import UnitFacts, clear_failure, judge_start, show, systemctl
from modelpivot.supervisors.unit_files import ReleaseUnitPaths, place_unit, remove_unit, write_secrets
from modelpivot.supervisors.unit_log import JournalCopies, read_last_words
from modelpivot.supervisors.unit_text import mark_of, render_engine, render_secrets, unit_name
from modelpivot.waiting import WaitedTooLong, wait_for

START_S = 60.0
"""Seconds until a unit's program is executed, once systemd has come to it; what it then loads is another matter."""
GOING = ("active", "activating", "reloading")
GRACE_S = 2.0
"""Seconds beyond the stop timeout that systemd itself gets to end a unit, before we do."""


class SystemdSupervisor:
    """One unit a release: ours, rendered from the release, or a foreign one that is started and stopped by its own name."""

    name = "systemd"

    def __init__(self, host: HostConfig, state: StatePaths) -> None:
        self._host, self._state = host, state
        self._running: dict[str, tuple[ProcessId, UnitFacts]] = {}
        """What was seen of a unit, true as long as that main process lives."""
        self._journal = JournalCopies()

    def prepare(self, release: Release) -> None:
        """Everything of a start that can be done before the old release stops: unit and boot unit verified and in place. Nothing runs yet."""
        self._place(release)
        place_boot_unit(to_environment(self._host), self._state.root.absolute(), read_adopted_units(self._state))

    def start(self, release: Release) -> UnitStatus:
        """Start the unit; nothing to do when it runs and no stop of it was begun. CommandFailed when its program cannot be executed.

        Returns after a second when systemd holds it up: `status` tells, and its start goes on by itself.
        """
        unit = unit_name(release)
        self._place(release)
        remove_gate(unit)
        if show(unit)["ActiveState"] in GOING and (status := self.status(release)).state == "running":
            return status
        return self._start(release, unit)

    def start_gated(self, release: Release, argv: Sequence[str]) -> UnitStatus:
        """The same unit with another command line, for this start alone; nothing restarts it until `start` was called."""
        unit = unit_name(release)
        self._place(release)
        place_gate(unit, argv)
        return self._start(release, unit)

    def _start(self, release: Release, unit: str) -> UnitStatus:
        self._running.pop(unit, None)
        clear_failure(unit)
        before = show(unit)
        judge = judge_start(since=before["InvocationID"])
        # a start of what waits to be restarted would wait too
        systemctl("restart" if before.waits_to_restart else "start", "--no-block", unit)
        try:
            wait_for(lambda: _look(unit), judge, what=f"the start of {unit}", deadline_s=START_S, interval_s=0.05)
        except (WaitedTooLong, CommandFailed) as error:
            words = read_last_words(start_of(show(unit), Invocation()))
            self.stop(release, timeout_s=release.deadlines.stop_s)
            why = next((line for line in words if "Failed" in line), error.message)
            message = f"{unit} does not start: {why}"
            raise CommandFailed(message, argv=release.start.argv, last_lines=words, hint=f"journalctl -u {unit}") from error
        self._remember(release, show(unit))
        return self.status(release)

    def stop(self, release: Release, *, timeout_s: float) -> None:
        """Stop the unit, SIGKILL after `timeout_s`; nothing of it is left afterwards and its failure is cleared, or CommandFailed names what is left.

        Nothing to do when it does not run and has left nothing.
        """
        unit = unit_name(release)
        facts = show(unit)
        self._remember(release, facts)
        if not facts.is_at_rest:
            systemctl("stop", "--no-block", unit)
        if not (self._is_ended(release, signal.SIGTERM, timeout_s + GRACE_S) or self._is_ended(release, signal.SIGKILL, KILL_S)):
            left = ", ".join(str(process.pid) for process in self.processes(release))
            raise CommandFailed(
                f"{unit}: processes {left or 'none'} are still there {KILL_S:g} s after SIGKILL; {show(unit)}",
                argv=release.start.argv,
                hint="they hang in the kernel, most likely in the GPU driver: look at dmesg; the host may need a reboot",
            )
        self._running.pop(unit, None)
        remove_gate(unit)
        clear_failure(unit)

    def _is_ended(self, release: Release, sign: signal.Signals, deadline_s: float) -> bool:
        """Wait for systemd to end the unit, and end ourselves what it leaves: at SIGTERM what outlives the unit, at SIGKILL everything."""
        unit, signalled = unit_name(release), set[ProcessId]()

        def read() -> bool:
            facts, left = _look(unit), self.processes(release)
            for process in left if facts.is_at_rest or sign is signal.SIGKILL else []:
                if process not in signalled:
                    signalled.add(process)
                    send_signal(process, sign)
            return facts.is_at_rest and not left

        with contextlib.suppress(WaitedTooLong):
            return wait_for(read, lambda is_over, _: is_over or None, what=f"the end of {unit}", deadline_s=deadline_s, interval_s=0.1)
        return False

    def status(self, release: Release) -> UnitStatus:
        """running: its main process lives; stopped: at rest without a failure; failed: it ended by itself, also while systemd waits to restart it."""
        unit = unit_name(release)
        main, _ = self._running.get(unit, (None, None))
        if main is not None and is_alive(main):
            return UnitStatus(state="running", main=main)
        facts = show(unit)
        main = read_process_id(facts.main_pid) if facts.main_pid else None
        if main is not None:
            self._running[unit] = (main, facts)
        if main is None and (facts.is_at_rest or facts.waits_to_restart):
            is_stopped = facts["ActiveState"] in ("inactive", "")
            return UnitStatus(state="stopped" if is_stopped else "failed", exit_code=facts.exit_code)
        return UnitStatus(state="running", main=main, is_held_up=main is None and facts.is_held_up)

    def processes(self, release: Release) -> list[ProcessId]:
        """Every living process proved to be of this unit, those that left its control group included."""
        facts, before = self._facts(unit_name(release)), self._read_invocation(release)
        groups, invocation_ids = {facts["ControlGroup"], before.group}, {facts["InvocationID"], before.invocation_id}
        return read_group_processes(groups, invocation_ids, before.known)

    def log_path(self, release: Release) -> Path:
        """The engine's output since its last start, brought up to date from the journal where that answers; a foreign unit's own file where it
        writes to one."""
        facts, before = self._facts(unit_name(release)), self._read_invocation(release)
        if before.output:
            return before.output
        log = self._state.release(release.id).log
        start = start_of(facts, before)
        if start.invocation_id:
            self._journal.bring_up_to_date(start, log, is_over=facts.main_pid == 0)
        return log

    def enable(self, release: Release) -> None:
        """Start the unit at every boot; nothing to do when it is so already."""
        systemctl("enable", unit_name(release))

    def disable(self, release: Release) -> None:
        """Start the unit at no boot; nothing to do when it is so already, or systemd does not know it."""
        if show(unit_name(release)).is_loaded:
            systemctl("disable", unit_name(release))

    def forget(self, release: Release) -> None:
        """Take its unit out, disabled first so that no link to it is left; a foreign unit stays its owner's."""
        if release.origin != "adopted":
            self.disable(release)
            remove_unit(unit_name(release))

    def is_host_stopping(self) -> bool:
        """Whether systemd shuts the machine down."""
        return systemctl("is-system-running", is_checked=False).stdout.strip() == "stopping"

    def start_switch(self, argv: Sequence[str], *, env: Mapping[str, str], log: Path) -> ProcessId:
        """Start the switch as a transient unit that is restarted when it dies and killed when it hangs. CommandFailed when it does not start.

        Nothing to do when it is there: the process that carries it out is the answer.
        """
        unit = f"modelpivot-switch-{log.parent.parent.name}.service"
        return start_switch_unit(unit, argv, env=env, log=log, folder=self._state.root.absolute())

    def _facts(self, unit: str) -> UnitFacts:
        main, facts = self._running.get(unit, (None, None))
        return facts if main is not None and facts is not None and is_alive(main) else show(unit)

    def _place(self, release: Release) -> None:
        if release.origin == "adopted":
            self._restore(release)
            return
        place_unit(unit_name(release), self._frozen_text(release))
        if key := read_api_key(release):
            write_secrets(self._unit_paths(release).secrets, render_secrets({"VLLM_API_KEY": key}))
        if release.start.user is not None:
            caches = self._state.release(release.id).caches
            caches.mkdir(parents=True, exist_ok=True)
            shutil.chown(caches, release.start.user)

    def _restore(self, release: Release) -> None:
        """A foreign unit runs as its files say now; only when systemd has lost it, they are put back as they stood."""
        facts = show(unit_name(release))
        if not facts.is_loaded and (adopted := read_model(self._unit_paths(release).adopted, AdoptedFiles)):
            restore_files(adopted)
        elif facts["NeedDaemonReload"] == "yes":
            systemctl("daemon-reload")

    def _frozen_text(self, release: Release) -> str:
        """The unit as it was first rendered from what the release holds: a later version of this program changes no release that stands."""
        paths = self._unit_paths(release)
        frozen = paths.text.read_text() if paths.text.exists() else ""
        if mark_of(release) in frozen:
            return frozen
        text = render_engine(release, paths.secrets.absolute())
        write_atomic(paths.text, text)
        return text

    def _remember(self, release: Release, facts: UnitFacts) -> None:
        """After a start and before a stop."""
        if facts["InvocationID"]:
            remember_invocation(self._unit_paths(release).invocation, facts, self.processes(release))

    def _read_invocation(self, release: Release) -> Invocation:
        return read_invocation(self._unit_paths(release).invocation)

    def _unit_paths(self, release: Release) -> ReleaseUnitPaths:
        return ReleaseUnitPaths(self._state.release(release.id).root)


def _look(unit: str) -> UnitFacts:
    pulse()
    return show(unit)
