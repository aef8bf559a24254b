"""Starts of the CPU engine measured one by one: how far figures move by themselves, and whether a planted slowdown is found.

`python -m benchmarks.starts OUT.json [--starts 6] [--slow 3] [--slower 1.11] [--lock FILE]`, from the project's folder, on a machine that does
nothing else. Writes all results and prints the comparison that the gate would make.
"""

import argparse
import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter

from modelpivot.facts.resolution import read_resolution
from modelpivot.models.benchmark import StoredResult
from modelpivot.models.engine import Resolution
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import EngineChoice
from modelpivot.models.workload import Regression, Workload
from modelpivot.operations.environment import install_environment
from modelpivot.plans.compare import Side, compare
from modelpivot.plans.gate import say_change
from modelpivot.recipes import read_engine
from tests.benchmark.recording import record_start, tiny_release
from tests.engine_environment import CACHE, ENGINE, make_model
from tests.weights.told import Told

WORKLOADS = [
    Workload(name="single", prompts=30, input_tokens=64, output_tokens=64, repeats=2),
    Workload(name="four", prompts=40, concurrency=4, input_tokens=64, output_tokens=64),
]


def main() -> None:
    """Record, write, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--starts", type=int, default=6)
    parser.add_argument("--slow", type=int, default=3)
    parser.add_argument("--slower", type=float, default=1.11)
    parser.add_argument("--lock", type=Path, help="held while an engine runs")
    options = parser.parse_args()
    host = HostConfig(name="starts", environments_root=CACHE / "test-environments", supervisor="process")
    engine = read_engine(ENGINE)
    resolution = read_resolution(host, engine, EngineChoice(name=ENGINE))
    if not isinstance(resolution, Resolution):
        parser.error(str(resolution))
    proof, results = install_environment(host, resolution, engine, Told()), list[StoredResult]()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        make_model(proof.path, "old", scratch / "model")
        for number in range(max(options.starts, options.slow)):
            for slower, count in ((1.0, options.starts), (options.slower, options.slow)):
                if number < count:
                    with locked(options.lock):
                        made = tiny_release(proof, scratch / "model", scratch, slower=slower)
                        results += record_start(host, made, WORKLOADS, scratch)
                    options.out.write_bytes(TypeAdapter(list[StoredResult]).dump_json(results, indent=1))
                    say(results[-3:])
    plain, slow = ([one for one in results if (one.release == "tiny") is is_plain] for is_plain in (True, False))
    if plain and slow:
        comparison = compare(Side("plain", plain), Side("slow", slow), Regression())
        print(*(f"{change.workload} {change.metric}: {say_change(change)}" for change in comparison.changes), sep="\n")


@contextmanager
def locked(path: Path | None) -> Iterator[None]:
    """Hold the file, where one is named."""
    if path is None:
        yield
        return
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def say(results: list[StoredResult]) -> None:
    """One line a result."""
    for result in results:
        one = result.measurement
        print(
            result.release,
            one.start,
            one.workload,
            one.output_tokens_per_s,
            one.median_ttft_ms,
            one.median_tpot_ms,
            one.invalid,
            flush=True,
        )


if __name__ == "__main__":
    main()
