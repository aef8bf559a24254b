"""The two ways from one release to another, a switch and by hand, seen by a client that asks all the time. Used by downtime.py and cuts.py."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.asked import TimedClient, took_between
from modelpivot.facts.endpoint import Completion, complete, read_generates
from modelpivot.models.cutover import Cutover
from modelpivot.models.engine import Engine
from modelpivot.models.recipe import Probe
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.plans.release import CACHES
from modelpivot.stages.candidate import ask_accepted
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.releases import record_current, record_proved
from modelpivot.state.runs import read_events
from modelpivot.supervisors.process import ProcessSupervisor, send_signal
from modelpivot.waiting import wait_for

EVERY_S = 0.05
UP_S = 900.0
QUIET_S = 10.0
"""Seconds in which the client's answers are looked at before anything is prepared."""
PROMPT, TOKENS = "The quick brown fox jumps over", 32


@dataclass
class Way:
    """One way from one release to the other: seconds without an answer, requests lost, and of ours the seconds of its parts."""

    by: str
    to: str
    downtime_s: float
    lost: int
    load: float
    stop_s: float = 0.0
    ready_s: float = 0.0
    own_s: float = 0.0
    warm_s: float = 0.0
    probe_s: float = 0.0
    said: str = ""
    """What the model says after it."""
    quiet: list[float] = field(default_factory=list)
    """Seconds of the client's answers before anything was prepared, and while it was."""
    busy: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Served:
    """What is started: an engine of an environment, over a model."""

    environment: Path
    engine: Engine
    version: str
    model: Path
    flags: list[str]
    variables: dict[str, str]
    gpus: int


@dataclass
class Bench:
    """One host in a folder with two releases of the same model."""

    context: Context
    releases: tuple[Release, Release]
    is_cold: bool
    logs: Path
    """The engine's words of every start."""

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

    def keep_log(self, name: str, release: Release) -> None:
        """Before the release's next start takes its place."""
        self.logs.mkdir(exist_ok=True)
        shutil.copy(self.supervisor.log_path(release), self.logs / f"{name}.log")

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


def say(release: Release) -> str:
    """Its answer to one prompt, token by token."""
    answer = complete(release.endpoint, PROMPT, max_tokens=TOKENS, key=None, timeout_s=60, has_logprobs=True)
    if not isinstance(answer, Completion):
        raise SystemExit(f"{release.id}: {answer}")
    return " ".join(answer.tokens)


def make_release(name: str, served: Served, state: Path, port: int) -> Release:
    """A release of it."""
    root, engine = state / "releases" / name, served.engine
    words = ["--model", str(served.model), "--served-model-name", "bench", "--host", "127.0.0.1", "--port", str(port), *served.flags]
    caches = {variable: str(root / "caches" / folder) for variable, folder in CACHES.items()}
    start = StartSpec(
        argv=[str(served.environment / "bin/python"), *engine.words(served.version), *words],
        environment={"PATH": f"{served.environment / 'bin'}:{os.environ['PATH']}", **caches, **engine.serve_env, **served.variables},
        working_directory=root,
    )
    root.mkdir(parents=True)
    return Release(
        id=name,
        name=name,
        serving_digest="0" * 64,
        repo="bench/model",
        commit="0" * 40,
        weights_dir=served.model,
        view_dir=served.model,
        environment_dir=served.environment,
        engine=engine.name,
        engine_version=served.version,
        start=start,
        gate=engine.gate,
        gpus=served.gpus,
        probes=[Probe(kind="answer"), Probe(kind="repeat"), Probe(kind="logprobs")],
        endpoint=Endpoint(bind="127.0.0.1", port=port, served_name="bench"),
    )


@contextmanager
def asking(release: Release) -> Iterator[TimedClient]:
    """A client that asks all the time, from a good answer to a good answer."""
    client = TimedClient([release.endpoint], every_s=EVERY_S).start()
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
        ready_s = time.monotonic() - began - stop_s
    lost = client.result()
    return Way("hand", to.id, lost.downtime_s, lost.lost_requests, load, stop_s=stop_s, ready_s=ready_s, said=say(to))


def go_by_switch(bench: Bench, frm: Release, to: Release) -> Way:
    """What a run does from its last check on."""
    load = os.getloadavg()[0]
    if bench.is_cold:
        ask_accepted(to, bench.context.journal.stage("check engine"))
    context = open_context(bench.context.host, name="bench")
    with asking(frm) as client:
        quiet_from = time.time()
        time.sleep(QUIET_S)
        quiet_until = time.time()
        cutover = start_switch(context, to=to, frm=frm, confirm="automatic")
        closed = follow_switch(context, cutover, until=is_closed)
        if closed.outcome != "promoted":
            raise SystemExit(f"the switch ended {closed.outcome}: {closed.reason}")
    lost = client.result()
    steps = {step.name: step.seconds for step in closed.steps}
    own_s = read_span(context, closed, "stop old", "ready") - steps["stop old"] - steps["ready"]
    return Way(
        "switch",
        to.id,
        lost.downtime_s,
        lost.lost_requests,
        load,
        stop_s=steps["stop old"],
        ready_s=steps["ready"],
        own_s=own_s,
        warm_s=steps.get("warm", 0.0),
        probe_s=steps["probe"],
        said=say(to),
        quiet=took_between(client.answers, quiet_from, quiet_until),
        busy=took_between(client.answers, *read_ends(context, closed, "warm", "warm")) if "warm" in steps else [],
    )


def read_ends(context: Context, closed: Cutover, first: str, last: str) -> tuple[float, float]:
    """When a step began and another one (or itself) ended, seconds since the epoch."""
    events, _ = read_events(context.state.run(closed.run_id))
    began = next(event.at for event in events if event.stage == first and event.kind == "started")
    return began, next(event.at for event in reversed(events) if event.stage == last and event.kind == "finished")


def read_span(context: Context, closed: Cutover, first: str, last: str) -> float:
    """Seconds between them."""
    began, ended = read_ends(context, closed, first, last)
    return ended - began
