"""SIGKILL in every phase of a fetch: the next one goes on where it ended, and nothing wrong ever has a name."""

import itertools
import json
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.files import write_model
from modelpivot.mirror.faults import Fault
from modelpivot.mirror.server import Mirror
from modelpivot.waiting import wait_for
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.receipts import read_receipts
from modelpivot.weights.verify import verify_directory
from tests.weights.conftest import NEVER_S, SHARD, Lab, manifest_of
from tests.weights.repos import make_repo
from tests.weights.told import Told, size_of


class Child:
    """A fetch in a process of its own."""

    def __init__(self, lab: Lab, *moment: str, **options: object) -> None:
        manifest = lab.directory.parent / "manifest.json"
        write_model(manifest, lab.manifest)
        words = [str(manifest), str(lab.directory), lab.mirror.base_url, json.dumps({"stall_s": NEVER_S, **options}), *moment]
        self.process = subprocess.Popen([sys.executable, "-m", "tests.weights.fetch_child", *words], stdout=subprocess.PIPE, text=True)

    def kill(self) -> None:
        """SIGKILL, and wait for it."""
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait(60) == -signal.SIGKILL

    def is_killed(self) -> bool:
        """Whether it ended as it was told to end itself."""
        return self.process.wait(240) == -signal.SIGKILL

    def end(self) -> dict[str, float]:
        """Its result; it must end well."""
        output, _ = self.process.communicate(timeout=240)
        assert self.process.returncode == 0
        result: dict[str, float] = json.loads(output)
        return result


def wait_for_bytes(path: Path, count: int) -> None:
    """Until a file on disk has so many bytes."""

    def size() -> int:
        return size_of(path)

    wait_for(
        size, lambda found, _: found if found >= count else None, what=f"{count} bytes in {path.name}", deadline_s=240, interval_s=0.005
    )


def test_two_kills_in_the_body_fetch_no_byte_twice(lab: Lab) -> None:
    """Killed at a third and at two thirds of a shard, the third run asks from where the bytes on disk end, each time."""
    size, asked_from = lab.file().size, []
    for part in (size // 3, 2 * size // 3):
        child = Child(lab, max_rate=150_000)
        wait_for_bytes(lab.partial(), part)
        child.kill()
        asked_from.append(lab.partial().stat().st_size)
        assert lab.assert_no_wrong_file() < len(lab.manifest.files)
    result = Child(lab).end()
    lab.assert_complete()
    assert [each.start for each in lab.mirror.served.of(f"acme/tiny/{SHARD}")] == [0, *asked_from]
    assert result["resumed_bytes"] >= asked_from[-1]


def test_two_kills_between_fsync_and_rename_cost_no_download(lab: Lab) -> None:
    """All bytes are on disk and synced, the name is not given: the next run reads them again and gives it."""
    for _ in range(2):
        assert Child(lab, "os.rename", SHARD).is_killed()
        assert not (lab.directory / SHARD).exists() and lab.partial().stat().st_size == lab.file().size
    Child(lab).end()
    lab.assert_complete()
    assert len(lab.mirror.served.of(f"acme/tiny/{SHARD}")) == 1


def test_two_kills_between_rename_and_receipt_cost_no_download(lab: Lab) -> None:
    """The name is given, the receipt is not written: the file is hashed and kept."""
    named: dict[str, int] = {}
    for _ in range(2):
        assert Child(lab, "open", "receipts.jsonl", start_connections=1, connections=1).is_killed()
        assert lab.assert_no_wrong_file() > 0 and read_receipts(WeightsFolder(lab.directory)) == {}
        assert named.items() <= downloads_of_named(lab).items()
        named = downloads_of_named(lab)
    Child(lab).end()
    lab.assert_complete()
    assert named.items() <= downloads_of_named(lab).items()


def downloads_of_named(lab: Lab) -> dict[str, int]:
    """How often each file that has its name was asked for."""
    there = [file.path for file in lab.manifest.files if (lab.directory / file.path).exists()]
    return {path: len(lab.mirror.served.of(f"acme/tiny/{path}")) for path in there}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[tuple[Path, Mirror]]:
    """119 shards of so many bytes each."""
    root = tmp_path_factory.mktemp("many")
    make_repo(root / "hub", "acme/many", shards=119, bytes_each=request.param)
    with Mirror(root / "hub") as mirror:
        yield root, mirror
    shutil.rmtree(root)


def seeded_faults(shards: list[str], seed: int) -> list[Fault]:
    """Resets, stalls, 429, 503 and flipped bytes, one for about every second shard."""
    dice = random.Random(seed)
    kinds: list[dict[str, object]] = [
        {"kind": "reset"},
        {"kind": "close"},
        {"kind": "stall"},
        {"kind": "flip"},
        {"kind": "status", "place": "resolve", "status": 429, "headers": {"RateLimit": '"resolvers";r=0;t=0'}},
        {"kind": "status", "place": "resolve", "status": 503},
    ]
    chosen = dice.sample(shards, len(shards) // 2)
    faults = []
    for shard in chosen:
        kind = dice.choice(kinds)
        path = f"*{shard}" if kind.get("place") == "resolve" else shard
        faults.append(Fault.model_validate({**kind, "path": path, "at": round(dice.random(), 3)}))
    return faults


def assert_no_proved_byte_twice(mirror: Mirror, repo: str, flipped: set[str]) -> None:
    """Each request for a shard starts at or after the one before, and the last byte of one is never far behind the first of the next.

    Only a shard that came with a flipped byte is asked for again from zero, once.
    """
    for entry in mirror.catalog.repo(repo).entries.values():  # type: ignore[union-attr]
        starts = [each.start for each in mirror.served.of(f"{repo}/{entry.path}") if each.status in (200, 206)]
        back = [now for before, now in itertools.pairwise(starts) if now < before]
        assert back == ([0] if entry.path in flipped and back else []), (entry.path, starts)


@pytest.mark.parametrize(
    ("many", "seed", "rate"),
    [
        (60_000, 1, 8e6),
        (60_000, 2, 8e6),
        *(pytest.param(60_000, seed, 8e6, marks=pytest.mark.long) for seed in range(3, 13)),
        *(pytest.param(33_700_000, seed, 500e6, marks=pytest.mark.long) for seed in range(1, 6)),
    ],
    indirect=["many"],
)
def test_119_shards_with_random_faults_and_three_kills(many: tuple[Path, Mirror], seed: int, rate: float, tmp_path: Path) -> None:
    """Seeded faults on every second shard and three SIGKILLs end complete and proved, with no proved byte fetched twice."""
    root, mirror = many
    mirror.served.clear()
    mirror.faults.clear()
    lab = Lab(mirror, root / "hub" / "acme" / "many", tmp_path / "w" / "x", manifest_of(mirror, "acme/many"))
    shards = [file.path for file in lab.manifest.files if file.path.endswith(".safetensors")]
    faults = seeded_faults(shards, seed)
    for fault in faults:
        mirror.faults.add(fault)
    lab.directory.mkdir(parents=True)
    for count in (20, 50, 90):
        child = Child(lab, stall_s=0.6, max_rate=rate)
        wait_for(
            lambda: len(list(lab.directory.glob("*.safetensors"))),
            lambda found, _, count=count: found if found >= count else None,  # type: ignore[misc]
            what=f"{count} shards",
            deadline_s=240,
            interval_s=0.005,
        )
        child.kill()
        lab.assert_no_wrong_file()
    Child(lab, stall_s=0.6).end()
    lab.assert_complete()
    assert mirror.faults.left() == 0
    assert_no_proved_byte_twice(mirror, "acme/many", {fault.path for fault in faults if fault.kind == "flip"})
    assert verify_directory(lab.directory, lab.manifest, tell=Told()).verdict.verdict == "complete"
