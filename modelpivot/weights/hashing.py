"""Hash whole files: read through one small buffer that stays in the processor's cache, ahead of the disk, in threads (hashlib lets go of the GIL).

Mapping the file instead costs more (a page table entry for every 4 KiB: 1.6 against 1.8 GB per CPU-second, docs/benchmarks.md), and a disk that
fails or a file that shrinks would end the process instead of raising an error.
"""

import errno
import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BUFFER_BYTES = 512 << 10
AHEAD_BYTES = 32 << 20
"""How far ahead of the hash the disk is asked to read."""


@dataclass(frozen=True)
class FileDigests:
    """Digests of one file, and the stat that held before and after it was read."""

    sha256: str
    git_oid: str | None
    stat: os.stat_result


class Changed(OSError):
    """The file changed while it was read."""


def hash_whole(
    path: Path, *, wants_git: bool, on_bytes: Callable[[int], None] = lambda count: None, stop: threading.Event | None = None
) -> FileDigests | None:
    """sha256, and git's blob id if wanted. None: told to stop. OSError when it cannot be read, Changed when it changed meanwhile."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        before = os.fstat(handle)
        digests = [hashlib.sha256()]
        if wants_git:
            digests.append(hashlib.sha1(b"blob %d\0" % before.st_size, usedforsecurity=False))

        def take(piece: memoryview) -> bool:
            for digest in digests:
                digest.update(piece)
            on_bytes(len(piece))
            return stop is None or not stop.is_set()

        if not _feed(handle, before.st_size, take):
            return None
        if _identity(os.fstat(handle)) != _identity(before):
            raise Changed(errno.EBUSY, "changed while it was read", str(path))
        return FileDigests(digests[0].hexdigest(), digests[1].hexdigest() if wants_git else None, before)
    finally:
        os.close(handle)


def _identity(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _feed(handle: int, size: int, take: Callable[[memoryview], bool]) -> bool:
    """Every byte in order to `take`. False: it said stop."""
    buffer, offset, asked = memoryview(bytearray(min(BUFFER_BYTES, max(size, 1)))), 0, 0
    while offset < size:
        if asked < min(size, offset + AHEAD_BYTES // 2):
            os.posix_fadvise(handle, asked, AHEAD_BYTES, os.POSIX_FADV_WILLNEED)
            asked += AHEAD_BYTES
        count = os.preadv(handle, [buffer], offset)
        if not count:
            raise Changed(errno.EIO, "became shorter while it was read")
        if not take(buffer[:count]):
            return False
        offset += count
    return True
