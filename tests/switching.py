"""A host with stand-in engines for the tests of supervisor and switch: a state folder, releases, and what the tests wait for."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, get_args

import pytest

from modelpivot.facts.endpoint import read_generates
from modelpivot.facts.start_log import read_last_lines
from modelpivot.host import is_alive
from modelpivot.models.cutover import Cutover, Phase, ProcessId
from modelpivot.models.engine import Gate
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import Deadlines, Hooks, Probe
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.settings import to_environment
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.state.cutovers import read_cutover, read_cutover_of_run
from modelpivot.state.lock import read_lock
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases, record_current, record_proved, write_release
from modelpivot.supervisors.lineage import read_rows
from modelpivot.supervisors.process import ProcessSupervisor, send_signal
from modelpivot.waiting import wait_for
from tests.ports import free_port

T = TypeVar("T")
STANDIN = Path(__file__).with_name("standin.py")
PROBES = [Probe(kind="answer"), Probe(kind="repeat"), Probe(kind="logprobs")]
DEADLINES = Deadlines(drain_s=60, stop_s=3, free_s=60, ready_s=60, ready_max_s=120, probe_s=60, confirm_s=300)
"""Far above what a stand-in needs: a machine that is busy must not end what a test looks at."""
PATIENCE_S = 180.0
"""Seconds until a test gives up; what it waits for comes in a few."""


def wait_until(read: Callable[[], T | None], *, what: str, deadline_s: float = PATIENCE_S, interval_s: float = 0.02) -> T:
    """The first value that is true."""

    def judge(value: T | None, waited_s: float) -> T | None:
        return value or None

    return wait_for(read, judge, what=what, deadline_s=deadline_s, interval_s=interval_s)


@dataclass
class SwitchHost:
    """One host in a folder, with a port that all its releases share."""

    root: Path
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.config = HostConfig(state_dir=self.root / "state", weights_root=self.root / "weights", environments_root=self.root / "env")
        self.state = StatePaths(self.config.state_dir)
        self.supervisor = ProcessSupervisor(self.state)

    def release(
        self,
        name: str,
        *,
        fault: str = "none",
        args: tuple[str, ...] = (),
        deadlines: Deadlines = DEADLINES,
        hooks: Hooks = Hooks(),  # noqa: B008 - frozen
        port: int | None = None,
        probes: list[Probe] = PROBES,
        gate: Gate | None = None,
    ) -> Release:
        """A release whose engine is the stand-in, frozen in the state."""
        port = port or self.port
        argv = [sys.executable, "-I", "-S", str(STANDIN), "--port", str(port), "--name", name, "--fault", fault, *args]
        release = Release(
            id=name,
            name=name,
            serving_digest="0" * 64,
            repo=f"demo/{name}",
            commit="0" * 40,
            weights_dir=self.root,
            view_dir=self.root,
            environment_dir=self.root,
            engine="standin",
            engine_version="0",
            start=StartSpec(argv=argv, environment={"PYTHONUNBUFFERED": "1"}, working_directory=self.root),
            endpoint=Endpoint(bind="127.0.0.1", port=port, served_name=name),
            probes=probes,
            deadlines=deadlines,
            hooks=hooks,
            gate=gate,
            created_at=time.time(),
        )
        return self.write(release)

    def write(self, release: Release) -> Release:
        """Freeze a release in the state."""
        write_release(self.state, release)
        return release

    def serve(self, release: Release) -> Release:
        """Start a release by hand and make it the current one."""
        self.supervisor.start(release)
        wait_until(lambda: answers(release), what=f"{release.id} to answer")
        record_proved(self.state, release.id)
        record_current(self.state, release.id)
        return release

    def make_current(self, release: Release) -> None:
        """Write a release down as the current one."""
        record_current(self.state, release.id)

    @contextlib.contextmanager
    def held_by_another(self) -> Iterator[None]:
        """The host's lock, held by another living process."""
        words = "from modelpivot.settings import read_host_config as h; from modelpivot.state.paths import StatePaths as S; "
        words += "from modelpivot.state.lock import acquire_lock as a; a(S(h().state_dir), run_id='other', what='another run'); input()"
        with subprocess.Popen([sys.executable, "-c", words], stdin=subprocess.PIPE, env=os.environ | to_environment(self.config)) as holder:
            wait_until(lambda: read_lock(self.state) is not None, what="the other process to hold the host")
            yield
            holder.communicate(b"\n")

    def context(self, run_id: str | None = None) -> Context:
        """A run of this test process."""
        return open_context(self.config, name="test", run_id=run_id)

    def switch(self, frm: Release | None, to: Release, *, confirm: str = "automatic") -> Cutover:
        """A whole switch, followed to its end."""
        context = self.context()
        cutover = start_switch(context, to=to, frm=frm, confirm="automatic" if confirm == "automatic" else "asked")
        closed = follow_switch(context, cutover, until=is_closed)
        print(f"switch to {to.id}: {closed.outcome}: {closed.reason}", *read_last_lines(context.run.log("switch"), 20), sep="\n")
        return closed

    def start_runner(self, frm: Release | None, to: Release, *words: str) -> "subprocess.Popen[bytes]":
        """A run in a process of its own, for tests that kill it."""
        environment = os.environ | to_environment(self.config)
        argv = [sys.executable, "-m", "tests.runner", to.id, frm.id if frm else "-", *words]
        return subprocess.Popen(argv, env=environment, cwd=Path(__file__).parents[1], start_new_session=True)

    def wait_for_phase(self, *phases: str) -> Cutover:
        """The open switch once it is in one of the phases, or beyond: a phase can be too short to be seen."""

        def read() -> Cutover | None:
            cutover = read_cutover(self.state)
            return cutover if cutover and is_as_far(cutover, *phases) else None

        return wait_until(read, what=f"phase {phases}", interval_s=0.001)

    def wait_closed(self, run_id: str, *, deadline_s: float = 240.0) -> Cutover:
        """The closed switch of a run."""

        def read() -> Cutover | None:
            cutover = read_cutover_of_run(self.state, run_id)
            return cutover if cutover and cutover.phase == "closed" else None

        return wait_until(read, what="the switch to close", deadline_s=deadline_s)

    def kill_switch(self, cutover: Cutover) -> None:
        """SIGKILL to the switch process, and wait until it is gone."""
        assert cutover.switch is not None
        process = cutover.switch
        send_signal(process, signal.SIGKILL)
        wait_until(lambda: is_gone(process), what="the death of the switch process")

    def wait_unlocked(self) -> None:
        """Until nobody holds the host."""
        wait_until(lambda: read_lock(self.state) is None, what="the lock to be let go of")

    def engines(self) -> list[int]:
        """Every living process of a stand-in of this host, whoever started it."""
        return [pid for pid in read_rows() if _is_standin_of(pid, self.port)]

    def clean_up(self) -> None:
        """End the switch and every engine."""
        cutover = read_cutover(self.state)
        if cutover and cutover.switch:
            send_signal(cutover.switch, signal.SIGKILL)
        for release in list_releases(self.state):
            self.supervisor.stop(release, timeout_s=0.01)


def _is_standin_of(pid: int, port: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return str(STANDIN).encode() in words and str(port).encode() in words


def is_as_far(cutover: Cutover, *phases: str) -> bool:
    """Whether the switch is in one of the phases, or beyond."""
    order = get_args(Phase)
    return order.index(cutover.phase) >= min(order.index(phase) for phase in phases)


def answers(release: Release) -> bool:
    """Whether the release generates now; nobody listens is known at once, and one that is only slow has its time."""
    return not read_generates(release.endpoint, key=None, timeout_s=30)


def is_gone(process: ProcessId) -> bool:
    """Whether this very process has ended."""
    return not is_alive(process)


@pytest.fixture
def switch_host(tmp_path: Path) -> Iterator[SwitchHost]:
    """A host with stand-in engines, all ended afterwards."""
    host = SwitchHost(tmp_path)
    yield host
    host.clean_up()
