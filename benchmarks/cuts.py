"""What a cut costs on the real engine, on this machine's GPU or CPU: how long until the proved release answers again, alone, with the same words.

`python benchmarks/cuts.py --environment DIR [--only N...]` writes a table to standard output. The engine's options are those of downtime.py.

One release serves, a switch to the next one is begun, and at a moment somebody is killed (SIGKILL) or appears. The run that began the switch follows
it, as every run does; nothing else is done, but where it ends in "nothing serves": then whoever stood in the way goes, and `recover` is called. At
the end: which release answers, with which words, is anything left of the other one, how much of the GPUs is in use. The cuts go on from each other:
one host, no start between them but the switch's own.
"""

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from benchmarks.asked import TimedClient
from benchmarks.beside import look
from benchmarks.downtime import add_engine_options, read_served
from benchmarks.ways import Bench, Served, asking, make_release, say
from modelpivot.models.cutover import Cutover, Phase, ProcessId
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.recover import recover
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.state.cutovers import ask_decision, read_cutover
from modelpivot.state.releases import read_current, write_release
from modelpivot.supervisors.process import send_signal
from modelpivot.waiting import wait_for

REACHED_S = 900.0
MIB = 2**20
ORDER: tuple[Phase, ...] = get_args(Phase)
HELD_MIB, HELD_S = 102_400, 60
STRANGER = """
import sys, time, torch
while True:
    try:
        held = torch.empty(int(sys.argv[1]) * 2**20, dtype=torch.uint8, device="cuda")
        break
    except torch.OutOfMemoryError:
        time.sleep(0.05)
torch.cuda.synchronize()
time.sleep(float(sys.argv[2]))
"""
STRANGERS: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Cut:
    """A moment of a switch, and what happens then."""

    name: str
    phase: Phase
    after_s: float
    """Seconds after the phase began."""
    strike: Callable[["Struck"], None]
    confirm: Literal["asked", "automatic"] = "asked"
    free_s: float = 120.0
    """The deadline for a free place."""
    needs_gpu: bool = False


@dataclass(frozen=True)
class Struck:
    """Whom a cut can meet."""

    bench: Bench
    cutover: Cutover
    new: Release


@dataclass
class Ending:
    """What a cut came to."""

    cut: str
    phase: str
    """Of the switch, as it was read before the cut."""
    outcome: str
    serves: str
    is_same: bool
    """Whether it says what it said before."""
    back_s: float
    """From the cut to the first good answer of the release that stays."""
    gap_s: float
    """The longest time without a good answer that ended after the cut."""
    left: int
    """Living processes of the other release."""
    used_mib: int
    gpu_processes: int
    reason: str


def kill_switch(struck: Struck) -> None:
    """The process that carries the switch out."""
    assert struck.cutover.switch
    send_signal(struck.cutover.switch, signal.SIGKILL)


def kill_server(struck: Struck) -> None:
    """The new release's main process, and not its children: on a GPU those hold the memory."""
    main = struck.bench.supervisor.status(struck.new).main
    assert main
    send_signal(main, signal.SIGKILL)


def kill_both(struck: Struck) -> None:
    """The switch, and the engine that it started, without its children."""
    kill_switch(struck)
    kill_server(struck)


def kill_children(struck: Struck) -> None:
    """The new release's other processes, as soon as there are any: the engine's core is one of them."""
    supervisor = struck.bench.supervisor
    main = supervisor.status(struck.new).main

    def read() -> list[ProcessId]:
        return [process for process in supervisor.processes(struck.new) if process != main]

    for process in wait_for(read, lambda found, _: found or None, what="its children", deadline_s=REACHED_S, interval_s=0.05):
        send_signal(process, signal.SIGKILL)


def ask_back(struck: Struck) -> None:
    """As a person does, or a gate that says no."""
    ask_decision(struck.bench.context.state, "return", reason="asked")


def hold_memory(struck: Struck) -> None:
    """A stranger takes GPU memory as soon as the old engine has left it, and goes after a time."""
    python = str(struck.new.environment_dir / "bin/python") if struck.new.environment_dir else sys.executable
    argv = [python, "-c", STRANGER, str(HELD_MIB), str(HELD_S)]
    STRANGERS.append(subprocess.Popen(argv, env=os.environ | struck.new.start.environment))


CUTS = [
    Cut("the switch, as the old engine is told to stop", "stopping", 0.05, kill_switch),
    Cut("the switch, as the new engine starts", "starting", 0.0, kill_switch),
    Cut("the switch, while the new engine loads", "readying", 4.0, kill_switch),
    Cut("the new engine's main process, while it loads", "readying", 4.0, kill_server),
    Cut("its children, while it loads", "readying", 4.0, kill_children),
    Cut("the switch, in the probe", "probing", 0.0, kill_switch),
    Cut("the switch and the new engine's main process, unconfirmed", "unconfirmed", 1.0, kill_both),
    Cut("nobody; the way back is asked for", "unconfirmed", 1.0, ask_back),
    Cut(
        "nobody; a stranger takes 100 GiB in between for a minute, and is waited for",
        "stopping",
        0.0,
        hold_memory,
        "automatic",
        needs_gpu=True,
    ),
    Cut("nobody; the same, and it is not waited for", "stopping", 0.0, hold_memory, "automatic", 5.0, needs_gpu=True),
]


def play(bench: Bench, cut: Cut, old: Release, new: Release) -> Ending:
    """One switch, cut."""
    new = new.model_copy(update={"deadlines": new.deadlines.model_copy(update={"free_s": cut.free_s})})
    old = old.model_copy(update={"deadlines": new.deadlines})
    for release in (old, new):
        write_release(bench.context.state, release)
    context, said = open_context(bench.context.host, name="cut"), say(old)
    with asking(old) as client:
        cutover = start_switch(context, to=new, frm=old, confirm=cut.confirm)
        phase, at = strike_in_time(bench, cut, cutover, new)
        closed = follow_switch(context, cutover, until=is_closed)
        end_strangers(context, closed)
    gap_s, up_at = longest_gap_after(client, at)
    serves = read_current(context.state)
    assert serves
    gpus = look() if old.gpus else None
    return Ending(
        cut=cut.name,
        phase=phase,
        outcome=closed.outcome or "",
        serves="the old one" if serves.id == old.id else "the new one",
        is_same=say(serves) == said,
        back_s=up_at - at,
        gap_s=gap_s,
        left=len(bench.supervisor.processes(new if serves.id == old.id else old)),
        used_mib=gpus.used_bytes // MIB if gpus else 0,
        gpu_processes=len(gpus.pids) if gpus else 0,
        reason=closed.reason,
    )


def end_strangers(context: Context, closed: Cutover) -> None:
    """Wait for their own end; what they kept down is brought up by hand."""
    while STRANGERS:
        STRANGERS.pop().wait()
    if closed.outcome == "nothing_serves":
        recover(open_context(context.host, name="recover"))


def strike_in_time(bench: Bench, cut: Cut, cutover: Cutover, new: Release) -> tuple[str, float]:
    """Wait for the moment and strike; in which phase, and when, in seconds since the epoch."""

    def read() -> Cutover | None:
        return read_cutover(bench.context.state)

    def judge(now: Cutover | None, _: float) -> Cutover | None:
        if now is None or now.id != cutover.id:
            raise SystemExit(f"{cut.name}: the switch ended before that moment")
        has_passed = ORDER.index(now.phase) > ORDER.index(cut.phase)
        return now if has_passed or (now.phase == cut.phase and time.time() - now.phase_since >= cut.after_s) else None

    now = wait_for(read, judge, what=cut.phase, deadline_s=REACHED_S, interval_s=0.005)
    at = time.time()
    cut.strike(Struck(bench, now, new))
    return now.phase, at


def longest_gap_after(client: TimedClient, at: float) -> tuple[float, float]:
    """The longest time without a good answer that ended behind the cut, seconds; and when it ended, seconds since the epoch."""
    ended = sorted(began + took for began, took in client.answers)
    return max(((after - before, after) for before, after in itertools.pairwise(ended) if after > at), default=(0.0, at))


def run(served: Served, where: Path, cuts: list[Cut], port: int) -> list[Ending]:
    """All of them on one host in a folder; everything that was started is ended."""
    host = HostConfig(state_dir=where / "state", supervisor="process", disk_reserve_bytes=0)
    one, two = (make_release(name, served, host.state_dir, port) for name in ("one", "two"))
    context = open_context(host, name="bench")
    bench = Bench(context, (one, two), is_cold=False, logs=where / "logs")
    for release in bench.releases:
        write_release(context.state, release)
    endings = []
    try:
        for release in (two, one):  # both have served once
            bench.make_current(release)
            if release is two:
                bench.supervisor.stop(two, timeout_s=90)
        for cut in cuts:
            current = read_current(context.state)
            old, new = (two, one) if current and current.id == two.id else (one, two)
            endings.append(play(bench, cut, old, new))
            print(f"{say_ending(endings[-1])} {endings[-1].reason}", file=sys.stderr, flush=True)
    finally:
        bench.end()
    return endings


def say_ending(it: Ending) -> str:
    """One row of the table."""
    words = "the same" if it.is_same else "NOT the same"
    cells = [it.cut, it.phase, f"{it.outcome}: {it.serves}", f"{it.back_s:.1f}", f"{it.gap_s:.1f}", words, str(it.left)]
    return f"| {' | '.join(cells)} | {it.gpu_processes}, {it.used_mib:,} MiB |"


def main() -> None:
    """Cut, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_engine_options(parser)
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help=f"some of the {len(CUTS)} cuts, by their number from 1 on")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    numbers = arguments.only or range(1, len(CUTS) + 1)
    chosen = [CUTS[number - 1] for number in numbers if arguments.gpus or not CUTS[number - 1].needs_gpu]
    with tempfile.TemporaryDirectory(prefix="modelpivot-bench-") as folder:
        endings = run(read_served(arguments, Path(folder)), Path(folder), chosen, arguments.port)
    head = [
        "| killed | in phase | ended | first answer after s | without an answer s | its words | left of the new one | on the GPU |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join([*head, *map(say_ending, endings)]))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(ending) for ending in endings], indent=2))


if __name__ == "__main__":
    main()
