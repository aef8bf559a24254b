"""Hash whole files from the page cache without copying them: mapped, made present piece by piece, hashed in threads (hashlib lets go of the GIL).

Making pieces present by madvise turns a failing disk or a file that shrinks into an error, where touching the mapping would kill the process.
"""

import errno
import hashlib
import mmap
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PIECE_BYTES = 4 << 20
AHEAD_BYTES = 32 << 20
MAPPED_BYTES = 1 << 30
"""Longest single mapping: address space stays small whatever the file."""
SMALL_BYTES = 1 << 20
POPULATE_READ = 22
"""MADV_POPULATE_READ, Linux 5.14 and later; the mmap module has no name for it."""


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

        def take(piece: memoryview | bytes) -> bool:
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


def _feed(handle: int, size: int, take: Callable[[memoryview | bytes], bool]) -> bool:
    """Every byte in order to `take`. False: it said stop."""
    if size <= SMALL_BYTES:
        return _feed_by_read(handle, 0, size, take)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_SEQUENTIAL)
    return all(_feed_mapping(handle, offset, min(MAPPED_BYTES, size - offset), take) for offset in range(0, size, MAPPED_BYTES))


def _feed_mapping(handle: int, offset: int, length: int, take: Callable[[memoryview | bytes], bool]) -> bool:
    try:
        mapping = mmap.mmap(handle, length, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ, offset=offset)
    except OSError:
        return _feed_by_read(handle, offset, length, take)
    with mapping, memoryview(mapping) as view:
        for start in range(0, length, PIECE_BYTES):
            stop = min(start + PIECE_BYTES, length)
            os.posix_fadvise(handle, offset + stop, AHEAD_BYTES, os.POSIX_FADV_WILLNEED)
            if not _make_present(mapping, start, stop - start):
                return _feed_by_read(handle, offset + start, length - start, take)
            with view[start:stop] as piece:
                if not take(piece):
                    return False
    return True


def _make_present(mapping: mmap.mmap, start: int, length: int) -> bool:
    """False: this kernel cannot, or the bytes cannot be had; reading tells which."""
    try:
        mapping.madvise(POPULATE_READ, start, length)
    except OSError:
        return False
    return True


def _feed_by_read(handle: int, offset: int, length: int, take: Callable[[memoryview | bytes], bool]) -> bool:
    stop = offset + length
    while offset < stop:
        chunk = os.pread(handle, min(SMALL_BYTES, stop - offset), offset)
        if not chunk:
            raise Changed(errno.EIO, "became shorter while it was read")
        if not take(chunk):
            return False
        offset += len(chunk)
    return True
