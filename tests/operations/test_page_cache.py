"""Weights into the page cache: every file of them, followed through links, by a process that is last in every queue."""

import ctypes
import mmap
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from modelpivot.operations import page_cache
from modelpivot.operations.page_cache import weight_bytes, weight_files
from modelpivot.waiting import WaitedTooLong, wait_for
from tests.lab.sandbox import UNABLE


def resident_pages(path: Path) -> int:
    """Pages of a file that are in memory, as the kernel tells (mincore)."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as mapped:
        base = (ctypes.c_char * size).from_buffer(mapped)
        seen = (ctypes.c_ubyte * (-(-size // mmap.PAGESIZE)))()
        done = ctypes.CDLL(None).mincore(ctypes.c_void_p(ctypes.addressof(base)), ctypes.c_size_t(size), seen)
        del base
    assert done == 0
    return sum(page & 1 for page in seen)


def drop(path: Path) -> bool:
    """Out of memory again; whether it is."""
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)
    return resident_pages(path) == 0


@pytest.fixture
def view(tmp_path: Path) -> Path:
    """A view: a link to a shard elsewhere, a GGUF file in a folder, a small file."""
    away, made = tmp_path / "away", tmp_path / "view"
    away.mkdir()
    (made / "q4").mkdir(parents=True)
    (away / "a.safetensors").write_bytes(os.urandom(2_000_000))
    (made / "a.safetensors").symlink_to(away / "a.safetensors")
    (made / "q4" / "b.gguf").write_bytes(os.urandom(1_000_000))
    (made / "config.json").write_text("{}")
    return made


def test_weights_are_found_through_links_and_folders(view: Path) -> None:
    """Shards and GGUF files count, other files do not; a file of weights is itself."""
    assert [path.name for path in weight_files(view)] == ["a.safetensors", "b.gguf"]
    assert weight_bytes(view) == 3_000_000
    assert weight_bytes(view / "q4" / "b.gguf") == 1_000_000
    assert weight_bytes(view / "nowhere") == 0


def test_all_pages_are_in_memory_afterwards(view: Path) -> None:
    """What lay on the disk alone is in memory when the process ends."""
    try:
        for path in weight_files(view):
            wait_for(partial(drop, path), lambda gone, _: gone or None, what=f"{path} to leave memory", deadline_s=10)
    except WaitedTooLong:
        pytest.skip(f"{UNABLE}: its file system keeps everything in memory")
    subprocess.run([sys.executable, "-I", "-S", page_cache.__file__, str(view)], check=True, stdout=subprocess.PIPE)
    for path in weight_files(view):
        assert resident_pages(path) == -(-path.stat().st_size // mmap.PAGESIZE)


def test_it_comes_last_and_ends_with_its_parent(tmp_path: Path) -> None:
    """Lowest priority, and killed by the kernel when the one that started it is gone (its file is a FIFO that never ends)."""
    os.mkfifo(tmp_path / "a.fifo")
    words = [sys.executable, "-I", "-S", "-c", ENDLESS, page_cache.__file__, str(tmp_path / "a.fifo")]
    script = f"import subprocess, time; p = subprocess.Popen({words!r}); print(p.pid, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        wait_for(lambda: os.getpriority(os.PRIO_PROCESS, pid), lambda nice, _: nice == 19 or None, what="its place", deadline_s=30)
        parent.kill()
    wait_for(lambda: is_there(pid), lambda there, _: None if there else True, what="its end", deadline_s=30)


ENDLESS = """import runpy, sys
from pathlib import Path
module = runpy.run_path(sys.argv[1])
module["take_the_last_place"]()
module["read_through"](Path(sys.argv[2]), bytearray(1))
"""


def is_there(pid: int) -> bool:
    """Whether a process of that number runs; one that nobody waited for has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
