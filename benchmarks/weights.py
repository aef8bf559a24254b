"""Bringing weights in and proving them, side by side with the Hub library's own commands, on this machine.

`python benchmarks/weights.py [--gigabytes 4] [--runs 5] [--where DIR ...]` writes a table to standard output and, with --json, all figures.
It needs twice the size free in every DIR (tmpfs: in memory), and a machine that does nothing else. The server is the mirror in a process of
its own: sendfile, signed links on another host name.

    fetch       `modelpivot fetch` (hashes while it writes, and verifies)    against    `hf download` + `hf cache verify`
    paced       the same behind 0.7 and 0.1 GB/s, against the wire's own time
    verify      receipts removed, from the page cache, against SHA-256 in memory on all cores
    again       a second `modelpivot fetch` over 119 verified shards; 5,000 small files; 10,000 shards
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.weights.repos import make_repo

BIN = Path(sys.executable).parent
REPO = "bench/model"


@dataclass
class Cost:
    """One command: seconds on the clock, seconds of CPU, most anonymous memory in bytes."""

    wall_s: float
    cpu_s: float
    anonymous_bytes: int


def run(argv: list[str], env: dict[str, str]) -> Cost:
    """Run to the end; it must succeed."""
    started = time.monotonic()
    process = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    most, over = [0], threading.Event()
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
    while not over.wait(0.02):
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            return
        found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")]
        most[0] = max([most[0], *found])


@contextmanager
def mirror(root: Path, *words: str) -> Iterator[str]:
    """The mirror in a process of its own, digests known; gives its address."""
    ready = root.parent / "ready"
    ready.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "modelpivot.mirror", str(root), "--ready-file", str(ready), *words], stdout=subprocess.DEVNULL
    )
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


def fetch_ours(endpoint: str, target: Path) -> Cost:
    """A whole fetch with its verification."""
    shutil.rmtree(target, ignore_errors=True)
    return run([str(BIN / "modelpivot"), "fetch", REPO, str(target), "--json"], environment(endpoint, target.parent / "home"))


def fetch_theirs(endpoint: str, target: Path) -> Cost:
    """Download, then verify."""
    shutil.rmtree(target, ignore_errors=True)
    env = environment(endpoint, target.parent / "home")
    first = run([str(BIN / "hf"), "download", REPO, "--local-dir", str(target)], env)
    second = run([str(BIN / "hf"), "cache", "verify", REPO, "--local-dir", str(target)], env)
    return Cost(first.wall_s + second.wall_s, first.cpu_s + second.cpu_s, max(first.anonymous_bytes, second.anonymous_bytes))


def verify_ours(endpoint: str, target: Path, *words: str) -> Cost:
    """A verification of what lies there."""
    return run([str(BIN / "modelpivot"), "verify", str(target), "--json", *words], environment(endpoint, target.parent / "home"))


def median(costs: list[Cost]) -> Cost:
    """Figure by figure."""
    return Cost(
        statistics.median(each.wall_s for each in costs),
        statistics.median(each.cpu_s for each in costs),
        max(each.anonymous_bytes for each in costs),
    )


def hash_speed() -> float:
    """SHA-256 over memory on all cores, bytes a second of CPU."""
    block, rounds, threads = os.urandom(8 << 20), 40, os.cpu_count() or 1
    before = time.process_time()

    def work() -> None:
        digest = hashlib.sha256()
        for _ in range(rounds):
            digest.update(block)

    with ThreadPoolExecutor(threads) as pool:
        for _ in range(threads):
            pool.submit(work)
    return len(block) * rounds * threads / (time.process_time() - before)


@dataclass
class Row:
    """One line of the table."""

    what: str
    cost: Cost
    note: str = ""

    def __str__(self) -> str:
        mb = self.cost.anonymous_bytes / 1e6
        return f"| {self.what} | {self.cost.wall_s:.2f} | {self.cost.cpu_s:.2f} | {mb:.0f} | {self.note} |"


def compare_fetch(where: Path, gigabytes: float, runs: int) -> list[Row]:
    """Ours against theirs, alternating, so that both see the same machine."""
    make_repo(where / "hub", REPO, shards=8, bytes_each=int(gigabytes * 1e9 / 8))
    ours, theirs, again = [], [], []
    with mirror(where / "hub") as endpoint:
        fetch_ours(endpoint, where / "target")
        for _ in range(runs):
            ours.append(fetch_ours(endpoint, where / "target"))
            again.append(verify_ours(endpoint, where / "target", "--full"))
            theirs.append(fetch_theirs(endpoint, where / "target"))
        mine, other = median(ours), median(theirs)
        note = f"wall {mine.wall_s / other.wall_s:.2f}, CPU {mine.cpu_s / other.cpu_s:.2f} of the library's"
        rows = [Row(f"{where}: hf download + hf cache verify", other), Row(f"{where}: modelpivot fetch", mine, note)]
        full, speed = median(again), hash_speed()
        share = gigabytes * 1e9 / full.cpu_s / speed
        rows.append(
            Row(f"{where}: modelpivot verify --full", full, f"{share:.0%} of SHA-256 in memory ({speed / 1e9:.2f} GB per CPU-second)")
        )
    return rows + paced(where, gigabytes)


def paced(where: Path, gigabytes: float) -> list[Row]:
    """Behind a slow wire the proof must cost next to nothing."""
    rows = []
    for rate in (0.7e9, 0.1e9):
        size = min(gigabytes * 1e9, rate * 40)
        with mirror(where / "hub", "--max-rate", str(rate)) as endpoint:
            if size < gigabytes * 1e9:
                shutil.rmtree(where / "hub")
                make_repo(where / "hub", REPO, shards=8, bytes_each=int(size / 8))
            cost = median([fetch_ours(endpoint, where / "target") for _ in range(2)][1:])
        rows.append(
            Row(f"{where}: behind {rate / 1e9:g} GB/s", cost, f"{cost.wall_s / (size / rate):.3f} x the wire's {size / rate:.1f} s")
        )
    return rows


def many_files(where: Path) -> list[Row]:
    """What grows with the number of files."""
    rows = []
    for shards, size, what in ((119, 1_000_000, "119 shards"), (5000, 1000, "5,000 small shards"), (10_000, 1000, "10,000 small shards")):
        shutil.rmtree(where / "hub", ignore_errors=True)
        folder = make_repo(where / "hub", REPO, shards=shards, bytes_each=size)
        target = where / "target"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
        write_manifest_of(folder, target)
        env = environment("http://127.0.0.1:9", where / "home")
        first = run([str(BIN / "modelpivot"), "verify", str(target), "--json"], env)
        second = run([str(BIN / "modelpivot"), "verify", str(target), "--json"], env)
        rows += [Row(f"verify {what}, all hashed", first), Row(f"verify {what}, by receipts", second)]
    return rows


def write_manifest_of(folder: Path, target: Path) -> None:
    """The manifest of everything in a folder, beside the files of another."""
    from modelpivot.files import hash_file
    from modelpivot.models.manifest import Manifest, ManifestFile
    from modelpivot.weights.layout import WeightsFolder
    from modelpivot.weights.manifest import write_manifest

    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [ManifestFile(path=path.relative_to(folder).as_posix(), size=path.stat().st_size, sha256=hash_file(path)) for path in paths]
    write_manifest(WeightsFolder(target), Manifest(repo=REPO, commit="a" * 40, files=files))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--where", type=Path, nargs="+", default=[Path("/dev/shm")])  # noqa: S108
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows: list[Row] = []
    for number, place in enumerate(arguments.where):
        where = place / f"modelpivot-bench-{os.getpid()}"
        where.mkdir()
        try:
            print(f"{where}: load {os.getloadavg()[0]:.2f} before", file=sys.stderr)
            rows += compare_fetch(where, arguments.gigabytes, arguments.runs)
            rows += many_files(where) if number == 0 else []
        finally:
            shutil.rmtree(where, ignore_errors=True)
    print("| what | wall s | CPU s | anonymous MB | |\n|---|---|---|---|---|")
    print("\n".join(str(row) for row in rows))
    if arguments.json:
        arguments.json.write_text(json.dumps([{"what": row.what, "note": row.note, **row.cost.__dict__} for row in rows], indent=2))


if __name__ == "__main__":
    main()
