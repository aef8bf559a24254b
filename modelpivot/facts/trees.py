"""A file or directory read by descriptors, one name at a time: no link is followed, no mount point entered, whatever is swapped meanwhile.

Entry(path='model-00001-of-00119.safetensors', kind='file', inode=1193, links=1, size=4540000000, blocks_bytes=4540002304, ...)
"""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from modelpivot.errors import PreconditionError
from modelpivot.files import digest_text
from modelpivot.models.reclaim import Part
from modelpivot.models.spelled import spell

DEEPEST = 100
"""Levels of a directory; every one takes a descriptor while it is read."""
BLOCK_BYTES = 512
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    """One name."""

    path: str
    """Below the tree; empty: the tree itself."""
    kind: str
    """folder, file, or other (a link, a socket)."""
    device: int
    inode: int
    links: int
    size: int
    blocks_bytes: int
    mtime_ns: int
    ctime_ns: int


class TreeRefused(PreconditionError):
    """A tree that is not taken as a whole: a link or mount point on the way or inside, or too deep."""


@contextmanager
def opened(path: "Path | str", flags: int = FOLDER, *, at: int | None = None) -> Iterator[int]:
    """A descriptor for the time of a block."""
    handle = os.open(path, flags, dir_fd=at)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def opened_parent(root: int, name: str) -> Iterator[tuple[int, str]]:
    """The folder that holds `name` (relative to `root`, part by part, never through a link or onto another mount), and its last part."""
    *folders, last = name.split("/")
    if last in ("", ".", ".."):
        raise TreeRefused(f"{spell(name)}: no plain name below its root")
    mount, handle = mount_id(root), os.dup(root)
    try:
        for folder in folders:
            below = _open_folder(handle, folder, spell(name), mount)
            os.close(handle)
            handle = below
        yield handle, last
    finally:
        os.close(handle)


def _open_folder(parent: int, name: str, shown: str, mount: str) -> int:
    if name in ("", ".", ".."):
        raise TreeRefused(f"{shown}: no plain name below its root")
    try:
        handle = os.open(name, FOLDER, dir_fd=parent)
    except OSError as error:
        raise TreeRefused(f"{shown}: {spell(name)} is no plain folder ({error.strerror})") from error
    if mount_id(handle) != mount:
        os.close(handle)
        raise TreeRefused(f"{shown}: {spell(name)} is a mount point")
    return handle


def mount_id(handle: int) -> str:
    """The mount that an open file lies on; a bind mount of the same file system is another one."""
    text = Path(f"/proc/self/fdinfo/{handle}").read_text()
    return next(line.split()[1] for line in text.splitlines() if line.startswith("mnt_id:"))


def read_tree(parent: int, name: str) -> list[Entry]:
    """Every entry of a file or directory, what lies in a folder before the folder. TreeRefused; OSError when it cannot be read."""
    return list(_walk(parent, name, "", mount_id(parent), 0))


def _walk(parent: int, name: str, path: str, mount: str, depth: int) -> Iterator[Entry]:
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        yield _entry(path, "file" if stat.S_ISREG(found.st_mode) else "other", found)
        return
    if depth > DEEPEST:
        raise TreeRefused(f"{spell(path)}: deeper than {DEEPEST} folders")
    handle = _open_folder(parent, name, spell(path or name), mount)
    try:
        with os.scandir(handle) as there:
            names = sorted(entry.name for entry in there)
        for each in names:
            yield from _walk(handle, each, f"{path}/{each}" if path else each, mount, depth + 1)
        yield _entry(path, "folder", os.fstat(handle))
    finally:
        os.close(handle)


def _entry(path: str, kind: str, found: os.stat_result) -> Entry:
    blocks = found.st_blocks * BLOCK_BYTES
    return Entry(path, kind, found.st_dev, found.st_ino, found.st_nlink, found.st_size, blocks, found.st_mtime_ns, found.st_ctime_ns)


def summarize(name: str, entries: list[Entry]) -> Part:
    """The tree in figures."""
    own = own_inodes(entries)
    unique = {(entry.device, entry.inode): entry for entry in entries}
    return Part(
        name=spell(name),
        digest=digest_tree(entries),
        files=sum(entry.kind != "folder" for entry in entries),
        size_bytes=sum(entry.blocks_bytes for entry in unique.values()),
        frees_bytes=sum(entry.blocks_bytes for key, entry in unique.items() if key in own),
    )


def own_inodes(entries: list[Entry]) -> set[tuple[int, int]]:
    """What nothing outside the tree names: folders, and files all of whose hard links lie in it."""
    names = Counter((entry.device, entry.inode) for entry in entries)
    return {(each.device, each.inode) for each in entries if each.kind == "folder" or names[each.device, each.inode] >= each.links}


def digest_tree(entries: list[Entry]) -> str:
    """One digest over what is there: it changes when anything appears, goes, is replaced or written to; a move of the whole changes nothing."""
    return digest_text(*(_line(entry) for entry in sorted(entries)))


def _line(entry: Entry) -> str:
    told = f"{entry.size} {entry.mtime_ns}" if entry.kind != "folder" else ""
    return f"{spell(entry.path)}\n{entry.kind} {entry.inode} {told}"


def newest_change(entries: list[Entry]) -> float:
    """When anything in it was last written, linked or renamed; seconds since the epoch."""
    return max((entry.ctime_ns for entry in entries), default=0) / 1e9
