"""What a command costs: seconds on the clock, seconds of CPU, anonymous memory; and the mirror in a process of its own."""

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Cost:
    """One command: seconds on the clock, seconds of CPU, most anonymous memory in bytes, of all its processes."""

    wall_s: float
    cpu_s: float
    anonymous_bytes: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        """One after the other."""
        return Cost(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s, max(self.anonymous_bytes, other.anonymous_bytes))


def median(costs: Iterable[Cost]) -> Cost:
    """Figure by figure; the most memory of all."""
    costs = list(costs)
    return Cost(
        statistics.median(each.wall_s for each in costs),
        statistics.median(each.cpu_s for each in costs),
        max(each.anonymous_bytes for each in costs),
    )


def run(argv: list[str], env: dict[str, str]) -> Cost:
    """Run to the end; it must succeed."""
    started, over, most = time.monotonic(), threading.Event(), [0]
    process = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    sampler = threading.Thread(target=_sample, args=(process.pid, most, over))
    sampler.start()
    errors = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - started
    over.set()
    sampler.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(argv)}: {process.returncode}\n{errors.decode()[-2000:]}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, most[0])


def _sample(pid: int, most: list[int], over: threading.Event) -> None:
    while not over.wait(0.1):
        most[0] = max(most[0], sum(_anonymous_bytes(each) for each in (pid, *_children(pid))))


def _anonymous_bytes(pid: int) -> int:
    """Of one process; 0 when it is over."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def _children(pid: int) -> list[int]:
    """Processes that one of its threads started."""
    with suppress(OSError):
        return [int(each) for file in Path(f"/proc/{pid}/task").glob("*/children") for each in file.read_text().split()]
    return []


@contextmanager
def mirror(root: Path, *words: str) -> Iterator[str]:
    """The mirror in a process of its own, digests known; gives its address."""
    ready = root.parent / "ready"
    ready.unlink(missing_ok=True)
    argv = [sys.executable, "-m", "modelpivot.mirror", str(root), "--ready-file", str(ready), *words]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        while not ready.exists():
            time.sleep(0.02)
        yield ready.read_text().strip()
    finally:
        process.terminate()
        process.wait()


def environment(endpoint: str, home: Path) -> dict[str, str]:
    """What both sides run with: this Hub, a home of their own, no bars, no telemetry."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **keep,
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",
        "MODELPIVOT_DISK_RESERVE_BYTES": "0",
        "MODELPIVOT_STATE_DIR": str(home / "state"),
    }
