"""Read weights into the page cache, at the lowest priority there is, so that the start that follows finds them in memory.

Run as a process of its own, which ends with the one that started it: `python page_cache.py FOLDER`. Standard library only.
"""

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

WEIGHTS = (".safetensors", ".gguf")
CHUNK_BYTES = 4_000_000
PR_SET_PDEATHSIG = 1
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
IOPRIO_IDLE = 3 << 13


def weight_files(folder: Path) -> Iterator[Path]:
    """A file of weights itself, or those in a folder and the folders right below it; in the order of their names, as engines load them."""
    found = [folder] if folder.is_file() else [*folder.glob("*"), *folder.glob("*/*")]
    yield from sorted(path for path in found if path.suffix in WEIGHTS and path.is_file())


def weight_bytes(folder: Path) -> int:
    """Bytes of all those weights."""
    return sum(path.stat().st_size for path in weight_files(folder))


def read_through(path: Path, buffer: bytearray) -> int:
    """Read a file to its end for the sake of the cache; bytes read."""
    count = 0
    with path.open("rb", buffering=0) as file:
        while read := file.readinto(buffer):
            count += read
    return count


def take_the_last_place() -> None:
    """CPU and disk only when nobody else wants them; die with the parent."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    if number := IOPRIO_SET.get(platform.machine()):
        libc.syscall(number, 1, 0, IOPRIO_IDLE)


def main(folder: Path) -> None:
    """Read everything once."""
    take_the_last_place()
    buffer = bytearray(CHUNK_BYTES)
    print(sum(read_through(path, buffer) for path in weight_files(folder)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
