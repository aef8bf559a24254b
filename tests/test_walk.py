"""Folders read however deep they lie: what a hostile or broken archive leaves is counted, not an end of ours."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.facts.stored import folder_bytes
from modelpivot.files import walk
from modelpivot.weights.irreplaceable import find_irreplaceable

DEPTH = 1200
"""More than Python's limit of nested calls."""


@pytest.fixture
def deepest(tmp_path: Path) -> Iterator[Path]:
    """The folder that lies deepest below `deep`; taken away by hand, for Python's own way nests its calls too."""
    folders = [tmp_path / "deep"]
    for _ in range(DEPTH):
        folders.append(folders[-1] / "d")
    for folder in folders:
        folder.mkdir()
    yield folders[-1]
    for folder in reversed(folders):
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def test_folders_are_read_however_deep(deepest: Path, tmp_path: Path) -> None:
    """Weights under twelve hundred folders are counted and named."""
    (deepest / "tune.safetensors").write_bytes(b"x" * 5000)
    top = tmp_path / "deep"
    assert folder_bytes(top) == (deepest / "tune.safetensors").stat().st_blocks * 512 > 0
    assert find_irreplaceable(top, None) == ["d/" * DEPTH + "tune.safetensors"]


def test_every_folder_is_told_as_python_tells_it(tmp_path: Path) -> None:
    """Links are named and not entered, one that leads to itself is a name like any other, and what is taken out of the list is left out."""
    for name in ("a/b/c", "a/left-out/x", "e"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("x")
    (tmp_path / "e/to-a").symlink_to(tmp_path / "a")
    (tmp_path / "e/to-file").symlink_to(tmp_path / "a/b/file")
    (tmp_path / "e/loop").symlink_to("loop")
    (tmp_path / "e/nowhere").symlink_to("gone")
    assert told(walk(tmp_path)) == told(os.walk(tmp_path))
    entered = []
    for folder, folders, _ in walk(tmp_path):
        folders[:] = [name for name in folders if name != "left-out"]
        entered.append(folder)
    assert sorted(entered) == [str(tmp_path / name).rstrip("/.") for name in (".", "a", "a/b", "a/b/c", "e")]


def test_what_is_not_there_holds_nothing(tmp_path: Path) -> None:
    """As a folder that nobody may read."""
    assert list(walk(tmp_path / "gone")) == []


def told(found: Iterator[tuple[str, list[str], list[str]]]) -> list[tuple[str, list[str], list[str]]]:
    """In an order of its own."""
    return sorted((folder, sorted(folders), sorted(files)) for folder, folders, files in found)
