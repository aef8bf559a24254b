"""Hash whole files. A large one is mapped by a process of its own (`mapped.py`), a small one is read through one buffer; both ahead of the disk.

Mapping saves the copy out of the page cache (docs/benchmarks.md has what it costs), but a disk that fails, or a file that shrinks, ends the process
that mapped it instead of raising an error. So such a process stands alone, and where it ends without an answer the file is read here: what is wrong
with it comes in words.
"""

import errno
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from modelpivot.weights import mapped

MAP_FROM_BYTES = 512 << 20
"""Below that the start of a process (15 ms) eats what the copy costs."""
BUFFER_BYTES = 512 << 10
"""Stays in the processor's cache."""
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


class _Stopped(Exception):
    """Told to stop."""


def hash_whole(
    path: Path, *, wants_git: bool, on_bytes: Callable[[int], None] = lambda count: None, stop: threading.Event | None = None
) -> FileDigests | None:
    """sha256, and git's blob id if wanted. None: told to stop. OSError when it cannot be read, Changed when it changed meanwhile."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def count(more: int) -> None:
        on_bytes(more)
        if stop is not None and stop.is_set():
            raise _Stopped

    try:
        before = os.fstat(handle)
        digests = _map(handle, before.st_size, wants_git, count) or _read(handle, before.st_size, wants_git, count)
        if _identity(os.fstat(handle)) != _identity(before):
            raise Changed(errno.EBUSY, "changed while it was read", str(path))
        return FileDigests(digests[0], digests[1] if wants_git else None, before)
    except _Stopped:
        return None
    finally:
        os.close(handle)


def _identity(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _map(handle: int, size: int, wants_git: bool, on_bytes: Callable[[int], None]) -> list[str]:
    """The digests, by a process that maps the file. Empty: it could not, whatever the reason."""
    if size < MAP_FROM_BYTES:
        return []
    argv = [sys.executable, "-I", "-S", mapped.__file__, *(["git"] if wants_git else [])]
    try:
        process = subprocess.Popen(argv, stdin=handle, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return []
    done = 0
    with process:
        try:
            for line in process.stdout or ():
                if line.startswith("="):
                    return line.split()[1:]
                on_bytes(int(line) - done)
                done = int(line)
        finally:
            process.kill()
    on_bytes(-done)
    return []


def _read(handle: int, size: int, wants_git: bool, on_bytes: Callable[[int], None]) -> list[str]:
    """The digests, by reading."""
    digests = [hashlib.sha256()]
    if wants_git:
        digests.append(hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False))
    buffer, offset, asked = memoryview(bytearray(min(BUFFER_BYTES, max(size, 1)))), 0, 0
    while offset < size:
        if asked < min(size, offset + AHEAD_BYTES // 2):
            os.posix_fadvise(handle, asked, AHEAD_BYTES, os.POSIX_FADV_WILLNEED)
            asked += AHEAD_BYTES
        count = os.preadv(handle, [buffer], offset)
        if not count:
            raise Changed(errno.EIO, "became shorter while it was read")
        for digest in digests:
            digest.update(buffer[:count])
        on_bytes(count)
        offset += count
    return [digest.hexdigest() for digest in digests]
