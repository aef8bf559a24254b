"""The demo as its user plays it, with a hand on the cord: start the command, wait for a moment, kill everything but engine and switch."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx

from modelpivot.demo.places import DemoPlaces
from modelpivot.demo.services import Service, read_running, remember
from modelpivot.host import is_alive, own_process_id
from modelpivot.mirror.server import Mirror
from modelpivot.models.cutover import Cutover
from modelpivot.models.event import Event
from modelpivot.models.result import RunResult
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases, read_book
from modelpivot.state.runs import list_runs, read_events
from modelpivot.supervisors.process import ProcessSupervisor
from modelpivot.waiting import wait_for

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "demo"
KEPT = "environments"
RATE = 8_000_000
MOMENT_S = 420.0


class Demo:
    """One demo folder; the environment of the engine is kept between test sessions, all else starts from nothing."""

    def __init__(self) -> None:
        CACHE.mkdir(parents=True, exist_ok=True)
        for path in CACHE.iterdir():
            if path.name != KEPT:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.places = DemoPlaces(CACHE)
        self.state = StatePaths(CACHE / "state")
        self.places.hub.mkdir()
        self.mirror = Mirror(self.places.hub, max_rate=RATE).start()
        remember(self.places, hub=Service(process=own_process_id(), url=self.mirror.base_url))

    def start(self, *words: str) -> subprocess.Popen[str]:
        """`modelpivot demo --json` in a process of its own."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MODELPIVOT_"))}
        environment["MODELPIVOT_DEMO_DIR"] = str(CACHE)
        argv = [sys.executable, "-m", "modelpivot", "demo", "--json", *words]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)

    def play(self, *words: str) -> tuple[int, RunResult]:
        """The demo to its end: exit code and what it told."""
        process = self.start(*words)
        out, err = process.communicate(timeout=900)
        assert out, err
        return process.returncode, RunResult.model_validate(json.loads(out))

    def wait(self, process: subprocess.Popen[str], is_time: Callable[[], bool], what: str) -> None:
        """Until the moment has come; fails with the command's words when it ended before."""

        def judge(now: bool, _waited_s: float) -> bool | None:
            if not now and process.poll() is not None:
                raise AssertionError(f"the demo ended before {what}: {process.communicate()}")
            return now or None

        wait_for(is_time, judge, what=what, deadline_s=MOMENT_S, interval_s=0.02)

    def kill_all_but_switch(self, process: subprocess.Popen[str]) -> None:
        """SIGKILL for the command, the flow, its children, the Prefect server: everything below the command but the switch and its engine."""
        cutover = read_cutover(self.state)
        spared = descendants(cutover.switch.pid) if cutover and cutover.switch else set()
        for pid in descendants(process.pid) - spared:
            with contextlib.suppress(ProcessLookupError):  # it ended with one that was killed before it
                os.kill(pid, signal.SIGKILL)
        process.communicate()

    def cutover(self) -> Cutover | None:
        """The open switch."""
        return read_cutover(self.state)

    def phase(self) -> str | None:
        """Phase of the open switch."""
        cutover = self.cutover()
        return cutover.phase if cutover else None

    def events(self) -> list[Event]:
        """The journal of the newest pivot run."""
        runs = [run for run in list_runs(self.state) if "demo-old" not in run.id and "demo-setup" not in run.id]
        return read_events(runs[0])[0] if runs else []

    def serving(self) -> list[str]:
        """Releases with a living engine."""
        supervisor = ProcessSupervisor(self.state)
        return [release.id for release in list_releases(self.state) if supervisor.processes(release)]

    def answers(self) -> str:
        """A generation from whatever serves on the demo's port; the name of its only engine."""
        (serving,) = self.serving()
        port = read_running(self.places).engine_port
        body = {"model": "demo", "prompt": "Hello", "max_tokens": 4}
        told = httpx.post(f"http://127.0.0.1:{port}/v1/completions", json=body, timeout=60).raise_for_status().json()
        assert told["usage"]["completion_tokens"] > 0
        return serving

    def current(self) -> str | None:
        """What the book says is current."""
        return read_book(self.state).current

    def end(self) -> None:
        """End what the demo left up, then our Hub."""
        remember(self.places, hub=None)
        subprocess.run(
            [sys.executable, "-m", "modelpivot", "demo", "--stop"], env={**os.environ, "MODELPIVOT_DEMO_DIR": str(CACHE)}, check=True
        )
        self.mirror.stop()


def descendants(root: int) -> set[int]:
    """A process and all below it, by parentage."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, todo = set(), [root]
    while todo:
        pid = todo.pop()
        found.add(pid)
        todo += children.get(pid, [])
    return found


def is_switch_alive(cutover: Cutover | None) -> bool:
    """Whether the open switch has its process."""
    return bool(cutover and cutover.switch and is_alive(cutover.switch))
