"""What the folder holds: repositories, their commit, their files with digests. Digests are kept by file identity, so a file is read once."""

import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from modelpivot.files import digest_text, hash_file, is_safe_relative

LARGE_BYTES = 1_000_000
LARGE_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".model")


@dataclass(frozen=True)
class Entry:
    """One file of a repository. `sha256` of its bytes; `git_oid` as git names the blob (of the pointer, for a large file)."""

    path: str
    location: Path
    size: int
    sha256: str
    git_oid: str
    is_large: bool

    @property
    def pointer(self) -> bytes:
        """What git itself holds of a large file."""
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {self.size}\n".encode()


@dataclass(frozen=True)
class Repo:
    """One repository as it stands now."""

    name: str
    commit: str
    entries: dict[str, Entry]


def git_blob_oid(size: int, chunks: Iterator[bytes]) -> str:
    """sha1 of `blob <size>\\0` and the bytes, as git names a file."""
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


class Catalog:
    """The repositories below `root`, read again at every question; a changed file moves the commit."""

    def __init__(self, root: Path, *, large_bytes: int = LARGE_BYTES) -> None:
        self._root, self._large_bytes = root, large_bytes
        self._known: dict[tuple[str, int, int, int], Entry] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """`org/name` of every repository."""
        return sorted(
            f"{path.parent.name}/{path.name}"
            for path in self._root.glob("*/*")
            if path.is_dir() and _is_shown(path.relative_to(self._root))
        )

    def repo(self, name: str) -> Repo | None:
        """The repository; None: there is none of this name."""
        folder = self._root / name
        if name.count("/") != 1 or not is_safe_relative(name) or not folder.is_dir():
            return None
        with self._lock:
            entries = {entry.path: entry for entry in self._read_entries(folder)}
        return Repo(name, _commit_of(entries), entries)

    def _read_entries(self, folder: Path) -> Iterator[Entry]:
        for location in sorted(folder.rglob("*")):
            path = location.relative_to(folder)
            if location.is_file() and _is_shown(path):
                yield self._read_entry(path.as_posix(), location)

    def _read_entry(self, path: str, location: Path) -> Entry:
        stat = location.stat()
        key = (str(location), stat.st_size, stat.st_mtime_ns, stat.st_ino)
        if key not in self._known:
            self._known[key] = make_entry(path, location, stat, self._large_bytes)
        return self._known[key]


def make_entry(path: str, location: Path, stat: os.stat_result, large_bytes: int) -> Entry:
    """Read a file once and name it as the Hub does."""
    is_large = path.endswith(LARGE_SUFFIXES) or stat.st_size > large_bytes
    entry = Entry(path, location, stat.st_size, hash_file(location), "", is_large)
    content = entry.pointer if is_large else location.read_bytes()
    return Entry(path, location, stat.st_size, entry.sha256, git_blob_oid(len(content), iter([content])), is_large)


def _commit_of(entries: dict[str, Entry]) -> str:
    return digest_text(*(f"{entry.path} {entry.sha256}" for entry in entries.values()))[:40]


def _is_shown(path: Path) -> bool:
    return not any(part.startswith(".") and part != ".gitattributes" for part in path.parts)
