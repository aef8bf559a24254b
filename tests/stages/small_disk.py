"""A small file system that a test fills up. Needs to mount one; skipped where that is not allowed."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.sandbox import UNABLE


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"{UNABLE}: mount of a small file system is not allowed: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill(disk: Path) -> None:
    """To the last byte."""
    with (disk / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            return
