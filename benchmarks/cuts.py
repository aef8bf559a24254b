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
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from benchmarks.asked import TimedClient
from benchmarks.beside import look
from benchmarks.downtime import add_engine_options, read_served
from benchmarks.strikes import CUTS, REACHED_S, STRANGERS, Cut, Struck
from benchmarks.ways import Bench, Served, asking, make_release, say
from modelpivot.models.cutover import Cutover, Phase
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.recover import recover
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.releases import read_current, write_release
from modelpivot.waiting import wait_for

MIB = 2**20
ORDER: tuple[Phase, ...] = get_args(Phase)


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
