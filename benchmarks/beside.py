"""What our looks at an engine make on the GPUs while another one serves: nothing, if all is well.

`python benchmarks/beside.py --environment DIR --engine vllm [--state DIR]` writes a table to standard output. NVML is asked twenty times a second for
the processes on every GPU and the memory in use, before, while and after: the host's facts are read; the engine is imported and asked, as the proof of
an environment does it; and, with the state of a host where a release is current, its flags and config are held against the engine.
"""

import argparse
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from modelpivot.facts.engine import ask_engine
from modelpivot.facts.everything import read_host_facts
from modelpivot.facts.nvml import read_with_library
from modelpivot.models.facts import Gpus
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.recipes import read_engine
from modelpivot.stages.candidate import ask_accepted
from modelpivot.stages.context import open_context
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_current

EVERY_S = 0.05
MIB = 2**20


@dataclass(frozen=True)
class Look:
    """The GPUs at one moment: processes on them, and bytes in use on all."""

    pids: frozenset[int]
    used_bytes: int


def look() -> Look:
    """SystemExit when NVML does not tell."""
    gpus = read_with_library()
    if not isinstance(gpus, Gpus) or not all(isinstance(gpu.used_bytes, int) for gpu in gpus.gpus):
        raise SystemExit(f"NVML does not tell: {gpus}")
    return Look(
        frozenset(process.pid for process in gpus.processes),
        sum(gpu.used_bytes for gpu in gpus.gpus if isinstance(gpu.used_bytes, int)),
    )


class Looks:
    """Looks all the time, on a thread of its own."""

    def __init__(self) -> None:
        self.seen: list[Look] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="looks")
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over.wait(EVERY_S):
            self.seen.append(look())

    def end(self) -> list[Look]:
        """All that was seen."""
        self._is_over.set()
        self._thread.join()
        return self.seen


def watch(what: str, act: Callable[[], object]) -> str:
    """One row: what was on the GPUs before, meanwhile and after."""
    before, looks, began = look(), Looks(), time.monotonic()
    told = act()
    seconds, seen, after = time.monotonic() - began, looks.end(), look()
    newcomers = frozenset().union(*(one.pids for one in seen)) - before.pids
    used = [one.used_bytes for one in seen]
    return (
        f"| {what} | {seconds:.1f} | {len(seen)} | {len(before.pids)} | {', '.join(map(str, newcomers)) or 'none'} | "
        f"{before.used_bytes / MIB:,.0f} | {min(used) / MIB:,.0f} to {max(used) / MIB:,.0f} | {after.used_bytes / MIB:,.0f} | {told} |"
    )


def say_context(value: object) -> str:
    """What the asked process said of itself."""
    return "it says: no CUDA context" if value is False else f"it says of a CUDA context: {value}"


def current_release(host: HostConfig) -> Release:
    """SystemExit when nothing is current there."""
    release = read_current(StatePaths(host.state_dir))
    if release is None:
        raise SystemExit(f"{host.state_dir}: no release is current")
    return release


def main() -> None:
    """Look, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--engine", default="vllm")
    parser.add_argument("--state", type=Path, default=Path("/var/lib/modelpivot"))
    arguments = parser.parse_args()
    engine, environment = read_engine(arguments.engine), arguments.environment.absolute()
    host = HostConfig(state_dir=arguments.state.absolute(), supervisor="process")
    release, context = current_release(host), open_context(host, name="beside")

    def facts() -> str:
        gpus = read_host_facts(host, context.state, until=time.monotonic() + 30).gpus
        return f"read with {gpus.read_with}" if isinstance(gpus, Gpus) else str(gpus)

    def accepted() -> str:
        answer = ask_accepted(release, context.journal.stage("check engine"))
        return ", ".join(sorted(str(name) for name in answer))

    rows = [
        watch("facts of the host", facts),
        watch("proof: the engine imported and asked", lambda: say_context(ask_engine(environment, engine).cuda_context)),
        watch("check engine: flags and config held against it", accepted),
    ]
    print(
        "| | s | looks | GPU processes before | new ones meanwhile | MiB before | meanwhile | after | |\n|---|---|---|---|---|---|---|---|---|"
    )
    print("\n".join(rows))


if __name__ == "__main__":
    main()
