"""Releases whose engine is the stand-in, inside a sandbox, and the supervisor that runs them there."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

from modelpivot.facts.endpoint import read_generates
from modelpivot.host import is_alive
from modelpivot.models.cutover import Cutover, ProcessId
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.stages.context import open_context
from modelpivot.stages.switch import start_switch
from modelpivot.state.cutovers import ask_decision, read_cutover, read_cutover_of_run
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_book, record_current, record_proved, write_release
from modelpivot.supervisors.protocol import UnitStatus
from modelpivot.supervisors.systemd import SystemdSupervisor
from modelpivot.supervisors.unit_text import unit_name
from modelpivot.waiting import wait_for
from tests.lab.sandbox import Sandbox
from tests.switching import DEADLINES, PATIENCE_S, STANDIN, is_as_far

__all__ = ["DEADLINES"]

T = TypeVar("T")
ROOT = Path("/var/lib/modelpivot")
PYTHON = "/usr/bin/python3"
DUMP = """
import json, os, sys, time
json.dump([sys.argv[1:], dict(os.environ)], open('/run/dump.new', 'w'))
os.rename('/run/dump.new', '/run/dump')
time.sleep(3600)
"""


class Units:
    """A host inside: state in /var/lib/modelpivot, all releases on one port."""

    def __init__(self, sandbox: Sandbox, *, patience_s: float = PATIENCE_S) -> None:
        self.sandbox, self._patience_s = sandbox, patience_s
        self.config = HostConfig(state_dir=ROOT, weights_root=ROOT / "weights", environments_root=ROOT / "environments")
        self.state = StatePaths(ROOT)
        self.supervisor = SystemdSupervisor(self.config, self.state)

    def release(self, name: str, *, fault: str = "none", args: tuple[str, ...] = (), **changes: object) -> Release:
        """A release of the stand-in, frozen in the state."""
        argv = [PYTHON, "-I", "-S", str(STANDIN), "--port", "8000", "--name", name, "--fault", fault, *args]
        return self.write(make_release(name, argv).model_copy(update=changes))

    def dumper(self, name: str, words: list[str], environment: dict[str, str]) -> Release:
        """A release that writes its arguments and its environment to /run/dump."""
        return self.write(make_release(name, [PYTHON, "-c", DUMP, *words], environment))

    def write(self, release: Release) -> Release:
        """Freeze a release inside."""
        self.sandbox.call(write_release, self.state, release)
        return release

    def read_dump(self) -> tuple[list[str], dict[str, str]]:
        """What a dumper was given."""
        words, environment = json.loads(self.wait(lambda: self.sandbox.shell("cat /run/dump || true"), what="the dump"))
        return words, environment

    def start(self, release: Release) -> UnitStatus:
        """Start a release inside."""
        return self.sandbox.call(self.supervisor.start, release)

    def stop(self, release: Release, *, timeout_s: float = 3) -> None:
        """Stop a release inside."""
        self.sandbox.call(self.supervisor.stop, release, timeout_s=timeout_s)

    def status(self, release: Release) -> UnitStatus:
        """State of a release inside."""
        return self.sandbox.call(self.supervisor.status, release)

    def processes(self, release: Release) -> list[ProcessId]:
        """Processes of a release inside."""
        return self.sandbox.call(self.supervisor.processes, release)

    def read_log(self, release: Release) -> str:
        """The engine's output since its last start."""
        return self.sandbox.read(self.sandbox.call(self.supervisor.log_path, release))

    def serve(self, release: Release) -> Release:
        """Start a release, enabled, as the current one."""
        self.start(release)
        self.wait_answers(release)
        self.sandbox.call(self.supervisor.enable, release)
        self.sandbox.call(make_current, self.state, release)
        return release

    def begin_switch(self, frm: Release | None, to: Release, *, confirm: Literal["asked", "automatic"] = "automatic") -> Cutover:
        """A switch on its way, in the hands of its own process."""
        return self.sandbox.call(begin_switch, self.config, frm, to, confirm)

    def read_switch(self, cutover: Cutover) -> Cutover:
        """The switch as it stands, open or closed."""
        now = self.sandbox.call(read_cutover_of_run, self.state, cutover.run_id)
        assert now is not None
        return now

    def wait_phase(self, cutover: Cutover, *phases: str) -> Cutover:
        """The switch once it is in one of the phases, or beyond: a phase can be too short to be seen."""

        def read() -> Cutover | None:
            now = self.read_switch(cutover)
            return now if is_as_far(now, *phases) else None

        seen = self.wait(read, what=f"phase {phases}")
        assert seen is not None
        return seen

    def decide(self, decision: str) -> None:
        """Ask the open switch to promote or to return."""
        self.sandbox.call(ask_decision, self.state, decision, reason="the test says so")

    def assert_serves(self, release: Release, other: Release) -> None:
        """One of the two serves, alone, is the current one, starts at the next boot, and nothing is open."""
        self.wait_answers(release)
        assert self.sandbox.call(read_cutover, self.state) is None
        assert self.sandbox.call(read_book, self.state).current == release.id
        assert (self.status(release).state, self.status(other).state) == ("running", "stopped")
        assert self.processes(other) == []
        states = [self.sandbox.show(unit_name(one), "UnitFileState") for one in (release, other)]
        assert states == ["enabled", "disabled"]

    def is_alive(self, process: ProcessId) -> bool:
        """Whether this very process lives inside."""
        return self.sandbox.call(is_alive, process)

    def wait_answers(self, release: Release) -> None:
        """Until the release generates."""
        self.wait(lambda: not self.sandbox.call(read_generates, release.endpoint, key=None, timeout_s=2), what=f"{release.id} to answer")

    def wait(self, read: Callable[[], T], *, what: str, deadline_s: float | None = None) -> T:
        """The first value that is true."""
        return wait_for(read, lambda value, _: value or None, what=what, deadline_s=deadline_s or self._patience_s, interval_s=0.05)


def make_release(name: str, argv: list[str], environment: dict[str, str] | None = None) -> Release:
    """A release with this command line, on port 8000."""
    return Release(
        id=name,
        name=name,
        serving_digest="0" * 64,
        repo=f"demo/{name}",
        commit="0" * 40,
        weights_dir=ROOT,
        view_dir=ROOT,
        environment_dir=ROOT,
        engine="standin",
        engine_version="0",
        start=StartSpec(argv=argv, environment={"PYTHONUNBUFFERED": "1", **(environment or {})}, working_directory=ROOT),
        endpoint=Endpoint(bind="127.0.0.1", port=8000, served_name=name),
        deadlines=DEADLINES,
        created_at=time.time(),
    )


def begin_switch(config: HostConfig, frm: Release | None, to: Release, confirm: Literal["asked", "automatic"]) -> Cutover:
    """Inside: what a run does up to the moment at which the switch process holds the host."""
    return start_switch(open_context(config, name="test"), to=to, frm=frm, confirm=confirm)


def make_current(state: StatePaths, release: Release) -> None:
    """Inside: the release is the proved and current one."""
    record_proved(state, release.id)
    record_current(state, release.id)
