"""How long nobody is answered: a switch against stopping and starting the same engine by hand, on this machine.

`python benchmarks/downtime.py --environment DIR [--pairs 5] [--settled] [--cold]` writes a table to standard output and, with --json, all figures.
DIR is an environment of an engine that engines.yaml names (`modelpivot env list`); the model is the demo's, made by the engine's Python. On a GPU:
`--model FOLDER --gpus 1 --serve "--max-model-len 2048"`; for an environment that modelpivot did not install, `--engine vllm==0.26.0` too.

Both ways go between two releases of one model, in turn, and are seen by one client that asks all the time. By hand is the quickest that a
person could be: the old process is told to end, and the new one's command is started in the moment when it is gone.

    settled every way is gone twice in a row, and the second counts: what is stopped was then started in the same way (a process that came through
            the gate ends faster than one that was started plain)
    warm    both releases have served before: kernels and the model's class are in their caches, all files in memory
    cold    before every way the releases' caches are removed and the page cache is dropped (root); ours then does what a run does before
            its switch: the new release is held against its engine

The same client tells what those who are served notice while the new release is prepared beside them: how long its answers take then, and how long
in the seconds before. After each way the model is asked for the same text, token by token: a start through the gate must say what a plain one says.
"""

import argparse
import json
import os
import shlex
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from benchmarks.asked import percentile
from benchmarks.ways import Bench, Served, Way, go_by_hand, go_by_switch, make_release
from modelpivot.facts.engine import engine_environ, inside_argv
from modelpivot.facts.environments import read_stored
from modelpivot.host import run_command
from modelpivot.models.engine import Engine
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.recipes import read_engine
from modelpivot.stages.context import open_context
from modelpivot.state.releases import write_release

FLAGS = "--enforce-eager --max-model-len 1024 --dtype bfloat16"


def measure(bench: Bench, pairs: int, times: int) -> list[tuple[Way, Way]]:
    """Pairs of (hand, switch), each begun by the other one than the pair before. Each way is gone so many times in a row, and the last counts."""
    ways: dict[str, Callable[[Bench, Release, Release], Way]] = {"hand": go_by_hand, "switch": go_by_switch}
    here, there = bench.releases
    measured = []
    for number in range(pairs):
        pair: dict[str, Way] = {}
        for name in ("hand", "switch") if number % 2 == 0 else ("switch", "hand"):
            for time_of in range(1, times + 1):
                bench.chill()
                pair[name] = ways[name](bench, here, there)
                bench.keep_log(f"{number + 1}-{name}-{time_of}", there)
                print(f"pair {number + 1}: {say_way(pair[name])}", file=sys.stderr, flush=True)
                here, there = there, here
        measured.append((pair["hand"], pair["switch"]))
    return measured


def say_way(way: Way) -> str:
    """One line while it goes on."""
    parts = f"stop {way.stop_s:.2f}, load {way.ready_s:.2f}, our own {way.own_s:.2f}, probe {way.probe_s:.2f}, before {way.warm_s:.1f}"
    return f"{way.by} {way.downtime_s:.2f} s, {way.lost} lost ({parts}); load of the machine {way.load:.1f}"


def say_latency(values: list[float]) -> str:
    """Median and 99th percentile, ms."""
    return f"{1000 * percentile(values, 0.5):.1f} / {1000 * percentile(values, 0.99):.1f} of {len(values)}"


def say_median(values: list[float]) -> str:
    """Median with the smallest and the largest: with five values the median of all lies between them in 94 of 100 cases."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def table(pairs: list[tuple[Way, Way]]) -> str:
    """The figures for a person."""
    hands, switches = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ways = (*hands, *switches)
    rows = [
        ("by hand, downtime s", [way.downtime_s for way in hands]),
        ("switch, downtime s", [way.downtime_s for way in switches]),
        ("switch / by hand, of each pair", [switch.downtime_s / hand.downtime_s for hand, switch in pairs]),
        ("switch: the old engine's stop s", [way.stop_s for way in switches]),
        ("switch: the new engine's load s", [way.ready_s for way in switches]),
        ("switch: our own steps before, between and after them s", [way.own_s for way in switches]),
        ("switch: the probe, when the new one answers already, s", [way.probe_s for way in switches]),
        ("switch: prepared before, while the old one served, s", [way.warm_s for way in switches]),
        ("load of the machine", [way.load for way in ways]),
    ]
    is_same = len({(way.to, way.said) for way in ways}) == len({way.to for way in ways})
    told = [
        ("p50 / p99 of the client's answers in the seconds before, ms", say_latency(joined(way.quiet for way in switches))),
        ("the same while the new release was prepared", say_latency(joined(way.busy for way in switches))),
        ("what each release says to the same prompt", "the same tokens after every start" if is_same else "NOT the same after every start"),
    ]
    lines = [*((what, say_median(values)) for what, values in rows), *told]
    return "\n".join(["| | median (smallest to largest) |", "|---|---|", *(f"| {what} | {words} |" for what, words in lines)])


def joined(lists: Iterable[list[float]]) -> list[float]:
    """All of them in one."""
    return [value for values in lists for value in values]


def make_model(environment: Path, folder: Path) -> Path:
    """The demo's new model."""
    run_command(inside_argv(environment, "make_model.py", ["new", folder]), timeout_s=600, env=engine_environ({}))
    return folder


def name_engine(environment: Path, words: str | None) -> tuple[Engine, str]:
    """The engine of an environment and its version: as it was proved, or as `NAME==VERSION` says of one that modelpivot did not install."""
    if words:
        name, _, version = words.partition("==")
        return read_engine(name), version
    stored = read_stored(environment)
    if stored is None:
        raise SystemExit(
            f"{environment}: expected an environment that modelpivot installed and proved; of any other say --engine NAME==VERSION"
        )
    return read_engine(stored.proof.engine), stored.proof.engine_version


def run(served: Served, where: Path, *, pairs: int, times: int, is_cold: bool, is_left: bool, port: int) -> list[tuple[Way, Way]]:
    """Everything, in a folder of its own; all that was started is ended, unless the last one is left to serve."""
    host = HostConfig(state_dir=where / "state", supervisor="process", disk_reserve_bytes=0)
    one, two = (make_release(name, served, host.state_dir, port) for name in ("one", "two"))
    context = open_context(host, name="bench")
    bench = Bench(context, (one, two), is_cold, where / "logs")
    for release in bench.releases:
        write_release(context.state, release)
    try:
        for release in (two, one):  # both have served once
            bench.make_current(release)
            bench.keep_log(f"0-{release.id}", release)
            if release is two:
                bench.supervisor.stop(two, timeout_s=90)
        measured = measure(bench, pairs, times)
    except BaseException:
        bench.end()
        raise
    if not is_left:
        bench.end()
    return measured


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_engine_options(parser)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--settled", action="store_true", help="every way twice in a row, and the second counts")
    parser.add_argument("--leave", type=Path, metavar="FOLDER", help="keep state and logs there, and leave the last release serving")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.cold and os.geteuid():
        raise SystemExit("--cold drops the page cache, which only root may")
    with tempfile.TemporaryDirectory(prefix="modelpivot-bench-") as folder:
        where = arguments.leave.absolute() if arguments.leave else Path(folder)
        pairs = run(
            read_served(arguments, Path(folder)),
            where,
            pairs=arguments.pairs,
            times=2 if arguments.settled else 1,
            is_cold=arguments.cold,
            is_left=arguments.leave is not None,
            port=arguments.port,
        )
    print(table(pairs))
    if arguments.json:
        arguments.json.write_text(json.dumps([{"hand": asdict(hand), "switch": asdict(switch)} for hand, switch in pairs], indent=2))


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """What is started, and where it listens."""
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--engine", metavar="NAME==VERSION", help="of an environment that modelpivot did not install")
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="instead of the demo's")
    parser.add_argument("--serve", default=FLAGS, metavar="WORDS", help=f"the engine's flags, one text (default: {FLAGS})")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable of the engine; may be repeated")
    parser.add_argument("--gpus", type=int, default=0, help="GPUs that it takes, which are to be measured free between the two")
    parser.add_argument("--port", type=int, default=18999)


def read_served(arguments: argparse.Namespace, scratch: Path) -> Served:
    """What the options name; the demo's model is made where none is named."""
    environment = arguments.environment.absolute()
    engine, version = name_engine(environment, arguments.engine)
    model = arguments.model.absolute() if arguments.model else make_model(environment, scratch / "model")
    variables = {"VLLM_CPU_KVCACHE_SPACE": "1"} if engine.device == "cpu" else {}
    variables |= dict(word.split("=", 1) for word in arguments.set)
    return Served(environment, engine, version, model, shlex.split(arguments.serve), variables, arguments.gpus)


if __name__ == "__main__":
    main()
