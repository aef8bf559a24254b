"""How long nobody is answered: a switch against stopping and starting the same engine by hand, on this machine.

`python benchmarks/downtime.py --environment DIR [--pairs 5] [--cold]` writes a table to standard output and, with --json, all figures.
DIR is an environment of an engine that engines.yaml names (`modelpivot env list`); the model is the demo's, made by the engine's Python.

Both ways go between two releases of one model, in turn, and are seen by one client that asks all the time. By hand is the quickest that a
person could be: the old process is told to end, and the new one's command is started in the moment when it is gone.

    warm    both releases have served before: kernels and the model's class are in their caches, all files in memory
    cold    before every way the releases' caches are removed and the page cache is dropped (root); ours then does what a run does before
            its switch: the new release is held against its engine
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from modelpivot.benchmark.client import Client
from modelpivot.facts.endpoint import read_generates
from modelpivot.facts.engine import engine_environ, inside_argv
from modelpivot.facts.environments import read_stored
from modelpivot.host import run_command
from modelpivot.models.cutover import Cutover
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.plans.release import CACHES
from modelpivot.recipes import read_engine
from modelpivot.stages.candidate import ask_accepted
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.releases import record_current, record_proved, write_release
from modelpivot.state.runs import read_events
from modelpivot.supervisors.process import ProcessSupervisor, send_signal
from modelpivot.waiting import wait_for

EVERY_S = 0.05
UP_S = 900.0
FLAGS = ["--enforce-eager", "--max-model-len", "1024", "--dtype", "bfloat16"]


@dataclass
class Way:
    """One way from one release to the other: seconds without an answer, requests lost, and of ours the seconds of its parts."""

    by: str
    downtime_s: float
    lost: int
    load: float
    stop_s: float = 0.0
    ready_s: float = 0.0
    own_s: float = 0.0
    warm_s: float = 0.0


@dataclass
class Bench:
    """One host in a folder with two releases of the same model."""

    context: Context
    releases: tuple[Release, Release]
    is_cold: bool

    @property
    def supervisor(self) -> ProcessSupervisor:
        """Starts and stops, for both."""
        return ProcessSupervisor(self.context.state)

    def make_current(self, release: Release) -> None:
        """Up, and written down as the current one."""
        self.supervisor.start(release)
        wait_for(lambda: answers(release), lambda yes, _: yes or None, what=f"{release.id} to answer", deadline_s=UP_S)
        record_proved(self.context.state, release.id)
        record_current(self.context.state, release.id)

    def end(self) -> None:
        """Everything that was started, a switch that was interrupted first."""
        cutover = read_cutover(self.context.state)
        if cutover and cutover.switch:
            send_signal(cutover.switch, signal.SIGKILL)
        for release in self.releases:
            self.supervisor.stop(release, timeout_s=10)

    def chill(self) -> None:
        """Nothing of an earlier start is left but what lies on the disk."""
        if self.is_cold:
            for release in self.releases:
                shutil.rmtree(self.context.state.release(release.id).caches, ignore_errors=True)
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3\n")


def answers(release: Release) -> bool:
    """Whether it generates now."""
    return not read_generates(release.endpoint, key=None, timeout_s=10)


def make_release(name: str, environment: Path, state: Path, model: Path, port: int) -> Release:
    """A release of the environment's engine over a model."""
    stored = read_stored(environment)
    if stored is None:
        raise SystemExit(f"{environment}: expected an environment that modelpivot installed and proved")
    engine, root = read_engine(stored.proof.engine), state / "releases" / name
    words = ["--model", str(model), "--served-model-name", "bench", "--host", "127.0.0.1", "--port", str(port), *FLAGS]
    caches = {variable: str(root / "caches" / folder) for variable, folder in CACHES.items()}
    variables = {"PATH": f"{environment / 'bin'}:{os.environ['PATH']}", "VLLM_CPU_KVCACHE_SPACE": "1"}
    start = StartSpec(
        argv=[str(environment / "bin/python"), *engine.serve, *words],
        environment={**variables, **caches, **engine.serve_env},
        working_directory=root,
    )
    root.mkdir(parents=True)
    return Release(
        id=name,
        name=name,
        serving_digest="0" * 64,
        repo="bench/model",
        commit="0" * 40,
        weights_dir=model,
        view_dir=model,
        environment_dir=environment,
        engine=engine.name,
        engine_version=stored.proof.engine_version,
        start=start,
        gate=engine.gate,
        endpoint=Endpoint(bind="127.0.0.1", port=port, served_name="bench"),
    )


@contextmanager
def asking(release: Release) -> Iterator[Client]:
    """A client that asks all the time, from a good answer to a good answer."""
    client = Client([release.endpoint], every_s=EVERY_S).start()
    wait_for(lambda: client.was_up, lambda yes, _: yes or None, what="the client's first answer", deadline_s=UP_S)
    yield client
    wait_for(lambda: client.is_down, lambda down, _: not down or None, what="the client's next answer", deadline_s=UP_S)
    client.stop()


def go_by_hand(bench: Bench, frm: Release, to: Release) -> Way:
    """Told to end, waited for, the new one started."""
    load = os.getloadavg()[0]
    with asking(frm) as client:
        began = time.monotonic()
        bench.supervisor.stop(frm, timeout_s=90)
        stop_s = time.monotonic() - began
        bench.make_current(to)
    lost = client.result()
    return Way("hand", lost.downtime_s, lost.lost_requests, load, stop_s=stop_s, ready_s=time.monotonic() - began - stop_s)


def go_by_switch(bench: Bench, frm: Release, to: Release) -> Way:
    """What a run does from its last check on."""
    load = os.getloadavg()[0]
    if bench.is_cold:
        ask_accepted(to, bench.context.journal.stage("check engine"))
    context = open_context(bench.context.host, name="bench")
    with asking(frm) as client:
        cutover = start_switch(context, to=to, frm=frm, confirm="automatic")
        closed = follow_switch(context, cutover, until=is_closed)
        if closed.outcome != "promoted":
            raise SystemExit(f"the switch ended {closed.outcome}: {closed.reason}")
    lost = client.result()
    steps = {step.name: step.seconds for step in closed.steps}
    own_s = read_span(context, closed) - steps["stop old"] - steps["ready"]
    return Way(
        "switch",
        lost.downtime_s,
        lost.lost_requests,
        load,
        stop_s=steps["stop old"],
        ready_s=steps["ready"],
        own_s=own_s,
        warm_s=steps.get("warm", 0.0),
    )


def read_span(context: Context, closed: Cutover) -> float:
    """Seconds from the beginning of the stop to the end of the probe."""
    events, _ = read_events(context.state.run(closed.run_id))
    began = next(event.at for event in events if event.stage == "stop old" and event.kind == "started")
    return next(event.at for event in reversed(events) if event.stage == "probe" and event.kind == "finished") - began


def measure(bench: Bench, pairs: int) -> list[tuple[Way, Way]]:
    """Pairs of (hand, switch), each begun by the other one than the pair before."""
    ways: dict[str, Callable[[Bench, Release, Release], Way]] = {"hand": go_by_hand, "switch": go_by_switch}
    here, there = bench.releases
    measured = []
    for number in range(pairs):
        pair: dict[str, Way] = {}
        for name in ("hand", "switch") if number % 2 == 0 else ("switch", "hand"):
            bench.chill()
            pair[name] = ways[name](bench, here, there)
            print(f"pair {number + 1}: {pair[name]}", file=sys.stderr)
            here, there = there, here
        measured.append((pair["hand"], pair["switch"]))
    return measured


def say_median(values: list[float]) -> str:
    """Median with the smallest and the largest: with five values the median of all lies between them in 94 of 100 cases."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def table(pairs: list[tuple[Way, Way]]) -> str:
    """The figures for a person."""
    hands, switches = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    rows = [
        ("by hand, downtime s", [way.downtime_s for way in hands]),
        ("switch, downtime s", [way.downtime_s for way in switches]),
        ("switch / by hand, of each pair", [switch.downtime_s / hand.downtime_s for hand, switch in pairs]),
        ("switch: the old engine's stop s", [way.stop_s for way in switches]),
        ("switch: the new engine's load s", [way.ready_s for way in switches]),
        ("switch: our own steps s", [way.own_s for way in switches]),
        ("switch: prepared before, while the old one served, s", [way.warm_s for way in switches]),
        ("load of the machine", [way.load for way in (*hands, *switches)]),
    ]
    return "\n".join(["| | median (smallest to largest) |", "|---|---|", *(f"| {what} | {say_median(values)} |" for what, values in rows)])


def make_model(environment: Path, folder: Path) -> Path:
    """The demo's new model."""
    run_command(inside_argv(environment, "make_model.py", ["new", folder]), timeout_s=600, env=engine_environ({}))
    return folder


def run(environment: Path, where: Path, *, pairs: int, is_cold: bool, port: int) -> list[tuple[Way, Way]]:
    """Everything, in a folder of its own; all that was started is ended."""
    model = make_model(environment, where / "model")
    host = HostConfig(state_dir=where / "state", supervisor="process", disk_reserve_bytes=0)
    names = ("one", "two")
    one, two = (make_release(name, environment, host.state_dir, model, port) for name in names)
    context = open_context(host, name="bench")
    bench = Bench(context, (one, two), is_cold)
    for release in bench.releases:
        write_release(context.state, release)
    try:
        for release in (two, one):  # both have served once
            bench.make_current(release)
            if release is two:
                bench.supervisor.stop(two, timeout_s=90)
        return measure(bench, pairs)
    finally:
        bench.end()


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--port", type=int, default=18999)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.cold and os.geteuid():
        raise SystemExit("--cold drops the page cache, which only root may")
    with tempfile.TemporaryDirectory(prefix="modelpivot-bench-") as folder:
        environment = arguments.environment.absolute()
        pairs = run(environment, Path(folder), pairs=arguments.pairs, is_cold=arguments.cold, port=arguments.port)
    print(table(pairs))
    if arguments.json:
        arguments.json.write_text(json.dumps([{"hand": asdict(hand), "switch": asdict(switch)} for hand, switch in pairs], indent=2))


if __name__ == "__main__":
    main()
