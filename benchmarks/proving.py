"""Verification against what it cannot be quicker than: SHA-256 of bytes in memory, and a disk's own reading."""

import hashlib
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.cost import BIN, Cost, environment, median, run
from benchmarks.rows import Row, at_least, at_most
from modelpivot.files import hash_file
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import write_manifest
from tests.weights.repos import make_repo

REPO = "bench/model"
SHARDS = 8
TMPFS = Path("/dev/shm")  # noqa: S108


def verify(target: Path, *words: str) -> Cost:
    """A verification of what lies there."""
    argv = [str(BIN / "modelpivot"), "verify", str(target), "--json", *words]
    return run(argv, environment("http://127.0.0.1:9", target.parent / "home"))


def make_target(where: Path, *, shards: int, bytes_each: int) -> Path:
    """A directory with its manifest beside its files, and no receipts."""
    shutil.rmtree(where / "target", ignore_errors=True)
    target = make_repo(where / "made", REPO, shards=shards, bytes_each=bytes_each).rename(where / "target")
    paths = sorted(path for path in target.rglob("*") if path.is_file())
    files = [ManifestFile(path=path.relative_to(target).as_posix(), size=path.stat().st_size, sha256=hash_file(path)) for path in paths]
    write_manifest(WeightsFolder(target), Manifest(repo=REPO, commit="a" * 40, files=files))
    return target


def hash_speed() -> float:
    """SHA-256 over memory on all cores, bytes a second of CPU."""
    block, rounds, threads = os.urandom(8 << 20), 80, os.cpu_count() or 1
    before = time.process_time()

    def work() -> None:
        digest = hashlib.sha256()
        for _ in range(rounds):
            digest.update(block)

    with ThreadPoolExecutor(threads) as pool:
        for _ in range(threads):
            pool.submit(work)
    return len(block) * rounds * threads / (time.process_time() - before)


def compare_hashing(where: Path, size: float, runs: int) -> list[Row]:
    """--full from the page cache against hashing in memory, by turns; on a disk also cold, against reading alone."""
    target = make_target(where, shards=SHARDS, bytes_each=int(size / SHARDS))
    verify(target)
    start, speeds, costs = median(verify(target) for _ in range(runs)), [], []
    for _ in range(runs):
        speeds.append(hash_speed())
        costs.append(verify(target, "--full"))
    speed, full = sorted(speeds)[runs // 2], median(costs)
    what = f"{where.parent}: verify --full of {size / 1e9:g} GB, of SHA-256 in memory ({speed / 1e9:.2f} GB per CPU-second)"
    rest = Cost(full.wall_s - start.wall_s, full.cpu_s - start.cpu_s)
    rows = [
        at_least(what, full, size / full.cpu_s / speed, 0.9),
        Row("the same without the command's start", rest, f"{size / rest.cpu_s / speed:.0%}"),
    ]
    return rows if where.stat().st_dev == TMPFS.stat().st_dev else [*rows, compare_cold(target, size / speed, start)]


def compare_cold(target: Path, hash_cpu_s: float, start: Cost) -> Row:
    """Everything from the disk, against the disk or the hash, whichever takes longer; by turns, for a disk of many has its moods."""
    turns = [(read_cold(target), verify_cold(target)) for _ in range(5)]
    reading, cold = (median(side) for side in zip(*turns, strict=True))
    limit_s = max(reading.wall_s, hash_cpu_s / (os.cpu_count() or 1))
    what = f"{target.parent.parent}: verify --full, cold, of reading alone ({reading.wall_s:.1f} s) or the hash"
    return at_least(what, cold, limit_s / (cold.wall_s - start.wall_s), 0.95)


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
    return verify(target, "--full")


def many_files(where: Path) -> list[Row]:
    """What grows with the number of files."""
    rows = []
    for shards, size, goals in ((119, 1_000_000, (None, 1.0)), (5000, 1000, (5.0, None)), (10_000, 1000, (10.0, None))):
        target = make_target(where, shards=shards, bytes_each=size)
        for what, goal in zip(("all hashed", "by receipts"), goals, strict=True):
            cost, name = verify(target), f"verify {shards:,} shards of {size:,} bytes, {what}"
            rows.append(Row(name, cost) if goal is None else at_most(name, cost, cost.wall_s, goal, lambda value: f"{value:.2f} s"))
    return rows
