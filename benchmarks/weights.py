"""Bringing weights in and proving them, side by side with the Hub library's own commands and with curl, on this machine.

`python benchmarks/weights.py [--gigabytes 4] [--runs 5] [--where DIR ...]` writes a table to standard output and, with --json, all figures.
It needs twice the size free in every DIR (tmpfs: in memory), and a machine that does nothing else. The server is the mirror in a process of
its own: sendfile, signed links on another host name.

    fetch       `modelpivot fetch` (hashes while it writes, and verifies)    against    `hf download` + `hf cache verify`, curl + sha256sum
    paced       the same behind 0.7 and 0.1 GB/s, against the wire's own time
    verify      --full from the page cache, against SHA-256 in memory; on a disk also cold, against reading alone
    again       verification of 119 proved shards; 5,000 and 10,000 small files (in the first DIR only)
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cost import BIN, Cost, environment, median, mirror, run
from tests.weights.repos import make_repo

REPO = "bench/model"
SHARDS = 8
TMPFS = Path("/dev/shm")  # noqa: S108


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the figure that has a goal, and the goal (at most, or at least)."""

    what: str
    cost: Cost
    figure: str = ""
    goal: str = ""
    held: bool | None = None

    def __str__(self) -> str:
        mark = {None: "", True: "held", False: "missed"}[self.held]
        mb = self.cost.anonymous_bytes / 1e6
        return f"| {self.what} | {self.cost.wall_s:.2f} | {self.cost.cpu_s:.2f} | {mb:.0f} | {self.figure} | {self.goal} | {mark} |"


def at_most(what: str, cost: Cost, value: float, goal: float, say: Callable[[float], str]) -> Row:
    """A row whose figure must not be larger than its goal."""
    return Row(what, cost, say(value), f"at most {say(goal)}", value <= goal)


def at_least(what: str, cost: Cost, value: float, goal: float) -> Row:
    """A row whose share must not be smaller than its goal."""
    return Row(what, cost, f"{value:.0%}", f"at least {goal:.0%}", value >= goal)


def fetch_ours(endpoint: str, target: Path) -> Cost:
    """A whole fetch with its verification."""
    shutil.rmtree(target, ignore_errors=True)
    return run([str(BIN / "modelpivot"), "fetch", REPO, str(target), "--json"], environment(endpoint, target.parent / "home"))


def fetch_theirs(endpoint: str, target: Path) -> Cost:
    """Download, then verify."""
    shutil.rmtree(target, ignore_errors=True)
    env = environment(endpoint, target.parent / "home")
    first = run([str(BIN / "hf"), "download", REPO, "--local-dir", str(target)], env)
    return first + run([str(BIN / "hf"), "cache", "verify", REPO, "--local-dir", str(target)], env)


def fetch_curl(endpoint: str, target: Path) -> Cost:
    """The shards by curl, several at once, then sha256sum: no names, no resume, no manifest."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    names = [f"model-{number:05}-of-{SHARDS:05}.safetensors" for number in range(1, SHARDS + 1)]
    words = [word for name in names for word in ("-o", str(target / name), f"{endpoint}/{REPO}/resolve/main/{name}")]
    first = run(["curl", "-sfLZ", *words], environment(endpoint, target.parent / "home"))
    return first + run(["sha256sum", *(str(target / name) for name in names)], environment(endpoint, target.parent / "home"))


def verify_ours(target: Path, *words: str) -> Cost:
    """A verification of what lies there."""
    return run(
        [str(BIN / "modelpivot"), "verify", str(target), "--json", *words], environment("http://127.0.0.1:9", target.parent / "home")
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


def compare_fetch(where: Path, size: float, runs: int) -> list[Row]:
    """Ours against the others, alternating, so that all see the same machine."""
    make_repo(where / "hub", REPO, shards=SHARDS, bytes_each=int(size / SHARDS))
    target, sides = where / "target", {"theirs": fetch_theirs, "curl": fetch_curl, "ours": fetch_ours}
    if not shutil.which("curl"):
        del sides["curl"]
    costs: dict[str, list[Cost]] = {name: [] for name in (*sides, "full")}
    with mirror(where / "hub") as endpoint:
        warm(endpoint)
        fetch_ours(endpoint, target)
        for _ in range(runs):
            for name, side in sides.items():
                costs[name].append(side(endpoint, target))
            costs["full"].append(verify_ours(target, "--full"))
    middle = {name: median(each) for name, each in costs.items() if each}
    ours, theirs = middle["ours"], middle["theirs"]
    rows = [Row(f"{where.parent}: hf download + hf cache verify", theirs)]
    rows += [Row(f"{where.parent}: curl -Z + sha256sum", middle["curl"])] if "curl" in middle else []
    rows += [
        at_most(
            f"{where.parent}: modelpivot fetch, CPU of the library's", ours, ours.cpu_s / theirs.cpu_s, 0.5, lambda value: f"{value:.2f}"
        ),
        at_most("the same, clock", ours, ours.wall_s / theirs.wall_s, 0.25, lambda value: f"{value:.2f}"),
        at_most("the same, anonymous memory", ours, ours.anonymous_bytes / 1e6, 150, lambda value: f"{value:.0f} MB"),
    ]
    return [*rows, *full_rows(where, target, middle["full"], size)]


def full_rows(where: Path, target: Path, full: Cost, size: float) -> list[Row]:
    """--full against hashing in memory, with and without the start of the command; on a disk also cold, against reading alone."""
    speed, start = hash_speed(), median(verify_ours(target) for _ in range(3))
    rows = [
        at_least(
            f"{where.parent}: verify --full, of SHA-256 in memory ({speed / 1e9:.2f} GB per CPU-second)",
            full,
            size / full.cpu_s / speed,
            0.9,
        ),
        Row(
            "the same without the command's start",
            Cost(full.wall_s - start.wall_s, full.cpu_s - start.cpu_s),
            f"{size / (full.cpu_s - start.cpu_s) / speed:.0%}",
        ),
    ]
    if where.stat().st_dev == TMPFS.stat().st_dev:
        return rows
    reading, cold = median(read_cold(target) for _ in range(3)), median(verify_cold(target) for _ in range(3))
    limit_s = max(reading.wall_s, size / speed / (os.cpu_count() or 1))
    return [
        *rows,
        at_least(f"{where.parent}: verify --full, cold, of reading alone or the hash", cold, limit_s / (cold.wall_s - start.wall_s), 0.95),
    ]


def drop_cached(target: Path) -> None:
    """Write back and forget what the page cache holds of the files."""
    for path in target.glob("*.safetensors"):
        handle = os.open(path, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def read_cold(target: Path) -> Cost:
    """All shards read once from the disk, one after the other."""
    drop_cached(target)
    started, before, buffer = time.monotonic(), time.process_time(), bytearray(8 << 20)
    for path in sorted(target.glob("*.safetensors")):
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return Cost(time.monotonic() - started, time.process_time() - before)


def verify_cold(target: Path) -> Cost:
    """A verification that must read everything from the disk."""
    drop_cached(target)
    return verify_ours(target, "--full")


def paced(where: Path, size: float) -> list[Row]:
    """Behind a slow wire the proof must cost next to nothing."""
    rows = []
    for rate, most in ((0.7e9, size), (0.1e9, min(size, 1.5e9))):
        shutil.rmtree(where / "hub", ignore_errors=True)
        make_repo(where / "hub", REPO, shards=SHARDS, bytes_each=int(most / SHARDS))
        with mirror(where / "hub", "--max-rate", str(rate)) as endpoint:
            warm(endpoint)
            cost = median(fetch_ours(endpoint, where / "target") for _ in range(3))
        wire_s = most / rate
        rows.append(
            at_most(
                f"{where.parent}: behind {rate / 1e9:g} GB/s ({wire_s:.1f} s)",
                cost,
                cost.wall_s / wire_s,
                1.05,
                lambda value: f"{value:.3f} x",
            )
        )
    return rows


def warm(endpoint: str) -> None:
    """Ask once, so that the mirror knows its digests before anything is measured."""
    with urllib.request.urlopen(f"{endpoint}/api/models/{REPO}", timeout=300) as answer:
        answer.read()


def many_files(where: Path) -> list[Row]:
    """What grows with the number of files."""
    rows = []
    for shards, size, goals in ((119, 1_000_000, (None, 1.0)), (5000, 1000, (5.0, None)), (10_000, 1000, (10.0, None))):
        shutil.rmtree(where / "hub", ignore_errors=True)
        folder, target = make_repo(where / "hub", REPO, shards=shards, bytes_each=size), where / "target"
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
        write_manifest_of(target)
        for what, goal in zip(("all hashed", "by receipts"), goals, strict=True):
            cost, name = verify_ours(target), f"verify {shards:,} shards of {size:,} bytes, {what}"
            rows.append(Row(name, cost) if goal is None else at_most(name, cost, cost.wall_s, goal, lambda value: f"{value:.2f} s"))
    return rows


def write_manifest_of(target: Path) -> None:
    """The manifest of everything in a folder, beside its files."""
    from modelpivot.files import hash_file
    from modelpivot.models.manifest import Manifest, ManifestFile
    from modelpivot.weights.layout import WeightsFolder
    from modelpivot.weights.manifest import write_manifest

    paths = sorted(path for path in target.rglob("*") if path.is_file())
    files = [ManifestFile(path=path.relative_to(target).as_posix(), size=path.stat().st_size, sha256=hash_file(path)) for path in paths]
    write_manifest(WeightsFolder(target), Manifest(repo=REPO, commit="a" * 40, files=files))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--where", type=Path, nargs="+", default=[TMPFS])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows, load, started = [], os.getloadavg()[0], time.monotonic()
    for number, place in enumerate(arguments.where):
        where = place / f"modelpivot-bench-{os.getpid()}"
        where.mkdir()
        try:
            rows += compare_fetch(where, arguments.gigabytes * 1e9, arguments.runs)
            rows += [*paced(where, arguments.gigabytes * 1e9), *many_files(where)] if number == 0 else []
        finally:
            shutil.rmtree(where, ignore_errors=True)
    print("| what | wall s | CPU s | anonymous MB | figure | goal | |\n|---|---|---|---|---|---|---|")
    print("\n".join(str(row) for row in rows))
    print(f"\n{arguments.gigabytes:g} GB, medians of {arguments.runs}; load {load:.1f} before; {os.cpu_count()} cores", end="; ")
    print(f"{time.monotonic() - started:.0f} s in all", file=sys.stdout)
    if arguments.json:
        arguments.json.write_text(json.dumps([{**row.__dict__, "cost": row.cost.__dict__} for row in rows], indent=2))


if __name__ == "__main__":
    main()
