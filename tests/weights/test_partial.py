"""A file on its way: what a power cut takes away is found and cut off, what is proved is kept."""

import hashlib
import random
import threading
from pathlib import Path

import pytest

from modelpivot.errors import IntegrityError
from modelpivot.models.manifest import ManifestFile
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.partial import Partial

CONTENT = random.Random(7).randbytes(100_000)
FILE = ManifestFile(path="model.safetensors", size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def folder(tmp_path: Path) -> WeightsFolder:
    return WeightsFolder(tmp_path / "w")


def partial(folder: WeightsFolder) -> Partial:
    """With a mark every 10 kB."""
    return Partial(folder, FILE, mark_bytes=10_000)


def written(folder: WeightsFolder, count: int) -> Path:
    """A partial with so many right bytes, as a kill leaves it."""
    part = partial(folder)
    part.open(threading.Event())
    for start in range(0, count, 1000):
        part.write(CONTENT[start : min(start + 1000, count)])
    part.close()
    return part.path


@pytest.mark.parametrize("count", [0, 1, 9_999, 10_000, 55_000, 100_000])
def test_bytes_of_a_killed_run_all_count(folder: WeightsFolder, count: int) -> None:
    """Opened again it has every byte, and the digest goes on from there."""
    written(folder, count)
    part = partial(folder)
    assert part.open(threading.Event()) == count
    part.write(CONTENT[count:])
    assert part.is_proved
    part.finish()
    part.close()
    assert folder.file(FILE.path).read_bytes() == CONTENT


@pytest.mark.parametrize(("damaged_at", "kept"), [(35_000, 30_000), (10_000, 10_000), (5_000, 0), (52_000, 55_000)])
def test_bytes_that_a_power_cut_took_are_cut_off_at_the_last_mark(folder: WeightsFolder, damaged_at: int, kept: int) -> None:
    """Zeros where data was: everything before the last mark that holds is kept; behind the last mark only the final digest tells."""
    path = written(folder, 55_000)
    with path.open("r+b") as file:
        file.seek(damaged_at)
        file.write(bytes(500))
    part = partial(folder)
    assert part.open(threading.Event()) == kept
    part.close()


def test_zeros_at_the_end_are_found_by_the_digest(folder: WeightsFolder) -> None:
    """A partial whose tail is wrong never gets the name."""
    path = written(folder, 99_000)
    with path.open("ab") as file:
        file.write(bytes(1000))
    part = partial(folder)
    part.open(threading.Event())
    assert part.is_whole and not part.is_proved
    with pytest.raises(IntegrityError):
        part.finish()
    part.close()
    assert not folder.file(FILE.path).exists()


def test_set_aside_keeps_the_wrong_bytes_and_starts_anew(folder: WeightsFolder) -> None:
    """Whoever looks into it finds them; the next bytes go into a new file."""
    written(folder, 20_000)
    part = partial(folder)
    part.open(threading.Event())
    part.set_aside()
    assert (part.size, part.path.stat().st_size) == (0, 0)
    assert part.path.with_suffix(".rejected").read_bytes() == CONTENT[:20_000]
    part.write(CONTENT)
    part.finish()
    part.close()
    assert folder.file(FILE.path).read_bytes() == CONTENT


@pytest.mark.parametrize("marks", ["", "x y z\n", "10000 short\n", "-5 " + "0" * 64 + "\n", "99999999 " + "0" * 64 + "\n"])
def test_marks_that_make_no_sense_count_for_nothing(folder: WeightsFolder, marks: str) -> None:
    """A torn or foreign marks file does not lose a byte."""
    path = written(folder, 25_000)
    path.with_name(path.name + ".marks").write_text(marks)
    part = partial(folder)
    assert part.open(threading.Event()) == 25_000
    part.close()


def test_partial_of_another_commit_is_another_file(folder: WeightsFolder) -> None:
    """Where bytes gather is told apart by path and digest: another version of a file never goes on in it."""
    assert len({folder.partial("a", "1"), folder.partial("a", "2"), folder.partial("x/a", "1")}) == 3
