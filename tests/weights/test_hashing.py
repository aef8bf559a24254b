"""Whole files hashed, small and large, and what is said of one that changes meanwhile."""

import hashlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from modelpivot.models.manifest import ManifestFile
from modelpivot.weights.finding import find_file
from modelpivot.weights.hashing import MAP_FROM_BYTES, Changed, hash_whole
from modelpivot.weights.layout import WeightsFolder

LARGE = MAP_FROM_BYTES + 4097


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file that is mapped: no multiple of any piece, a hole but for both its ends."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"begin")
    os.truncate(path, LARGE - 3)
    with path.open("ab") as file:
        file.write(b"end")
    return path


def digest_of(path: Path) -> str:
    """sha256, the plain way."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def git_oid_of(path: Path) -> str:
    """git's blob id, the plain way."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def at_first(act: Callable[[], None]) -> Callable[[int], None]:
    """Takes the bytes that are told, and acts once, when the first ones are."""
    left = [act]
    return lambda count: left.pop()() if left else None


def test_large_file_has_the_digests_of_its_bytes_and_tells_each_byte_once(large: Path) -> None:
    """By a process that maps it: pieces larger than what is read at once."""
    told: list[int] = []
    digests = hash_whole(large, wants_git=True, on_bytes=told.append)
    assert digests is not None
    assert (digests.sha256, digests.git_oid) == (digest_of(large), git_oid_of(large))
    assert sum(told) == LARGE and max(told) > 1 << 20


def test_where_no_process_can_be_started_a_large_file_is_read(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest is the same, and no byte is told twice."""
    told: list[int] = []
    monkeypatch.setattr(sys, "executable", "/bin/false")
    digests = hash_whole(large, wants_git=False, on_bytes=told.append)
    assert digests is not None and digests.sha256 == digest_of(large)
    assert sum(told) == LARGE and max(told) <= 1 << 20


@pytest.mark.parametrize("size", [0, 1, 4096, (1 << 20) + 1])
def test_small_file_has_the_digests_of_its_bytes(tmp_path: Path, size: int) -> None:
    """Also an empty one."""
    path = tmp_path / "config.json"
    path.write_bytes(os.urandom(size))
    digests = hash_whole(path, wants_git=True)
    assert digests is not None and (digests.sha256, digests.git_oid) == (digest_of(path), git_oid_of(path))


def test_large_file_cut_short_while_it_is_hashed_is_an_error_in_words(large: Path) -> None:
    """The process that mapped it ends by SIGBUS; ours says what happened."""
    with pytest.raises(Changed, match="shorter"):
        hash_whole(large, wants_git=False, on_bytes=at_first(lambda: os.truncate(large, 1 << 20)))


def test_large_file_written_to_while_it_is_hashed_is_an_error_in_words(large: Path) -> None:
    """A digest of bytes that were never there together is none."""

    def write() -> None:
        with large.open("r+b") as file:
            file.write(b"x")

    with pytest.raises(Changed, match="changed"):
        hash_whole(large, wants_git=False, on_bytes=at_first(write))


def test_told_to_stop_there_is_no_digest(large: Path) -> None:
    """Neither by mapping nor by reading after it."""
    stop, told = threading.Event(), list[int]()

    def count(more: int) -> None:
        told.append(more)
        stop.set()

    assert hash_whole(large, wants_git=False, on_bytes=count, stop=stop) is None
    assert len(told) == 1


def test_file_that_shrinks_while_it_is_judged_has_its_problem(large: Path) -> None:
    """A problem of that file like any other; a verification goes on with the next one."""
    file = ManifestFile(path=large.name, size=LARGE, sha256="0" * 64)
    shrink = at_first(lambda: os.truncate(large, 1 << 20))
    finding = find_file(WeightsFolder(large.parent), file, None, {}, lambda count, is_hashed: shrink(count), threading.Event())
    assert [(problem.code, problem.found) for problem in finding.problems] == [("UNREADABLE", "became shorter while it was read")]
    assert finding.receipt is None
