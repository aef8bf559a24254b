"""Bringing weights in and proving them, side by side with the Hub library's own commands and with curl, on this machine.

`python benchmarks/weights.py [--gigabytes 4] [--runs 5] [--where DIR ...] [--only PART ...]` writes a table to standard output and, with --json,
all figures. It needs twice the size free in every DIR (tmpfs: in memory), and a machine that does nothing else. The server is the mirror in a
process of its own: sendfile, signed links on another host name.

    fetch       `modelpivot fetch` (hashes while it writes, and verifies)    against    `hf download` + `hf cache verify`, curl + sha256sum
    paced       the same behind 0.7 and 0.1 GB/s, against the wire's own time and the plainest loop behind it (in the first DIR only)
    verify      --full from the page cache, against SHA-256 in memory; on a disk also cold, against reading alone
    again       verification of 119 proved shards; 5,000 and 10,000 small files (in the first DIR only)
"""

import argparse
import json
import os
import shutil
import sys
import time
import urllib.request
from pathlib import Path

from benchmarks import floor
from benchmarks.cost import BIN, Cost, environment, median, mirror, run
from benchmarks.proving import REPO, SHARDS, TMPFS, compare_hashing, many_files
from benchmarks.rows import Row, at_most
from tests.weights.repos import make_repo

PARTS = ("fetch", "paced", "verify", "again")


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


def shard_words(endpoint: str, say: str) -> list[str]:
    """Words of a curl for every shard; `say` is where a shard goes, with its name in place of {}."""
    names = [f"model-{number:05}-of-{SHARDS:05}.safetensors" for number in range(1, SHARDS + 1)]
    return [word for name in names for word in ("-o", say.format(name), f"{endpoint}/{REPO}/resolve/main/{name}")]


def fetch_curl(endpoint: str, target: Path) -> Cost:
    """The shards by curl, several at once, then sha256sum: no names, no resume, no manifest."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    env = environment(endpoint, target.parent / "home")
    first = run(["curl", "-sfLZ", *shard_words(endpoint, f"{target}/{{}}")], env)
    return first + run(["sha256sum", *map(str, sorted(target.iterdir()))], env)


def fetch_floor(endpoint: str, target: Path) -> Cost:
    """Received, written and hashed in the plainest loop."""
    shutil.rmtree(target, ignore_errors=True)
    argv = [sys.executable, str(Path(floor.__file__)), f"{endpoint}/{REPO}", str(target), str(SHARDS)]
    return run(argv, environment(endpoint, target.parent / "home"))


def compare_fetch(where: Path, size: float, runs: int) -> list[Row]:
    """Ours against the others, alternating, so that all see the same machine."""
    make_repo(where / "hub", REPO, shards=SHARDS, bytes_each=int(size / SHARDS))
    target, sides = where / "target", {"theirs": fetch_theirs, "curl": fetch_curl, "floor": fetch_floor, "ours": fetch_ours}
    if not shutil.which("curl"):
        del sides["curl"]
    costs: dict[str, list[Cost]] = {name: [] for name in sides}
    with mirror(where / "hub") as endpoint:
        warm(endpoint)
        fetch_ours(endpoint, target)
        for _ in range(runs):
            for name, side in sides.items():
                costs[name].append(side(endpoint, target))
    middle = {name: median(each) for name, each in costs.items()}
    ours, theirs = middle["ours"], middle["theirs"]
    return [
        Row(f"{where.parent}: hf download + hf cache verify, {size / 1e9:g} GB", theirs),
        *([Row("curl -Z + sha256sum", middle["curl"])] if "curl" in middle else []),
        Row("the plainest loop: receive, write, hash", middle["floor"]),
        at_most("modelpivot fetch (proof included): CPU of the library's", ours, ours.cpu_s / theirs.cpu_s, 0.5, "{:.2f}".format),
        at_most("the same, clock", ours, ours.wall_s / theirs.wall_s, 0.25, "{:.2f}".format),
        at_most("the same, anonymous memory", ours, ours.anonymous_bytes / 1e6, 150, "{:.0f} MB".format),
    ]


def paced(where: Path, size: float, runs: int) -> list[Row]:
    """Behind a slow wire the proof must cost next to nothing; by turns with the plainest loop, since both share the machine with the server."""
    rows = []
    for rate, most in ((0.7e9, size), (0.1e9, min(size, 1.5e9))):
        shutil.rmtree(where / "hub", ignore_errors=True)
        make_repo(where / "hub", REPO, shards=SHARDS, bytes_each=int(most / SHARDS))
        target, ours, least, wire_s = where / "target", [], [], most / rate
        with mirror(where / "hub", "--max-rate", str(rate)) as endpoint:
            warm(endpoint)
            for _ in range(runs):
                ours.append(fetch_ours(endpoint, target))
                least.append(fetch_floor(endpoint, target))
        middle, lowest = median(ours), median(least)
        what = f"{where.parent}: {most / 1e9:g} GB behind {rate / 1e9:g} GB/s ({wire_s:.2f} s)"
        rows += [
            at_most(f"{what}, of the wire's time", middle, middle.wall_s / wire_s, 1.05, "{:.3f} x".format),
            Row("the plainest loop there", lowest, f"{lowest.wall_s / wire_s:.3f} x"),
        ]
    return rows


def warm(endpoint: str) -> None:
    """Ask once, so that the mirror knows its digests before anything is measured."""
    with urllib.request.urlopen(f"{endpoint}/api/models/{REPO}", timeout=300) as answer:
        answer.read()


def use_once(where: Path, size: float) -> None:
    """Write so much and remove it: a virtual machine gets memory from its host page by page, at the first touch (20 microseconds each, seen once)."""
    block, path = bytes(64 << 20), where / "used-once"
    with path.open("wb", buffering=0) as file:
        for _ in range(int(size) // len(block)):
            file.write(block)
    path.unlink()


def measure(place: Path, parts: list[str], size: float, runs: int) -> list[Row]:
    """The parts that are asked for, in one place."""
    where = place / f"modelpivot-bench-{os.getpid()}"
    where.mkdir()
    try:
        if where.stat().st_dev == TMPFS.stat().st_dev:
            use_once(where, 2 * size)
        rows = compare_fetch(where, size, runs) if "fetch" in parts else []
        rows += paced(where, size, runs) if "paced" in parts else []
        shutil.rmtree(where / "hub", ignore_errors=True)
        rows += compare_hashing(where, size, runs) if "verify" in parts else []
        return rows + (many_files(where) if "again" in parts else [])
    finally:
        shutil.rmtree(where, ignore_errors=True)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--where", type=Path, nargs="+", default=[TMPFS])
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows, load, started = [], os.getloadavg()[0], time.monotonic()
    for number, place in enumerate(arguments.where):
        parts = [part for part in arguments.only if number == 0 or part in ("fetch", "verify")]
        rows += measure(place, parts, arguments.gigabytes * 1e9, arguments.runs)
    print("| what | wall s | CPU s | anonymous MB | figure | goal | |\n|---|---|---|---|---|---|---|")
    print("\n".join(str(row) for row in rows))
    print(f"\n{arguments.gigabytes:g} GB, medians of {arguments.runs}; load {load:.1f} before; {os.cpu_count()} cores", end="; ")
    print(f"{time.monotonic() - started:.0f} s in all", file=sys.stdout)
    if arguments.json:
        arguments.json.write_text(json.dumps([{**row.__dict__, "cost": row.cost.__dict__} for row in rows], indent=2))


if __name__ == "__main__":
    main()
