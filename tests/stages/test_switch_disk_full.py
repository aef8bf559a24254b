"""A disk that fills up in the middle of a switch. Needs to mount a small file system; skipped where that is not allowed."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from tests.switching import SwitchHost, answers


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"mount of a small file system is not allowed here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def _fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            return


def test_old_release_comes_back_on_a_full_disk(small_disk: Path) -> None:
    """With no byte left on the state's disk the switch still goes back, from the bytes it held in reserve, and closes."""
    host = SwitchHost(small_disk)
    try:
        old, new = host.serve(host.release("old")), host.release("new", args=("--load-s", "1"))
        context = host.context()
        cutover = start_switch(context, to=new, frm=old)
        seen = host.wait_for_phase("readying")
        _fill(small_disk)
        assert seen.switch is not None
        os.kill(seen.switch.pid, signal.SIGTERM)
        closed = follow_switch(context, cutover, until=is_closed)
        assert closed.outcome == "returned", closed
        assert answers(old)
        assert len(host.engines()) == 1
    finally:
        host.clean_up()
