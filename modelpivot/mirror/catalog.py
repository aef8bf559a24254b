"""What the folder holds: repositories, their commits, their files with digests. A file is read once: its digest is kept by its identity.

<root>/<org>/<name>/...                  published by hand: the commit is made of the content
<root>/<org>--<name>/<commit>/...        a host's weights root: commits, files and digests as their manifests and receipts have them
"""

import hashlib
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from modelpivot.files import digest_text, hash_file, is_safe_relative
from modelpivot.models.manifest import Receipt
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.receipts import read_receipts, receipt_holds

LARGE_BYTES = 1_000_000
MANY_FILES = 1000
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
    """One repository at one commit, as it stands now."""

    name: str
    commit: str
    entries: dict[str, Entry]


def git_blob_oid(content: bytes) -> str:
    """sha1 of `blob <size>\\0` and the bytes, as git names a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Catalog:
    """The repositories below `root`, read again at every question; a changed file moves the commit.

    The listing of many files holds for twice the time that reading it took, so that 10,000 of them do not stop the server.
    """

    def __init__(self, root: Path, *, large_bytes: int = LARGE_BYTES) -> None:
        self._root, self._large_bytes = root, large_bytes
        self._known: dict[tuple[str, int, int, int], Entry] = {}
        self._listed: dict[str, tuple[list[Repo], float, float]] = {}
        self._lock = threading.Lock()

    def repo(self, name: str, revision: str = "main") -> Repo | None:
        """The repository at a commit or `main`, which is the newest; None: there is none of this name, or no such revision."""
        return next((repo for repo in self.repos(name) if revision in ("main", repo.commit)), None)

    def repos(self, name: str) -> list[Repo]:
        """Every commit of the repository, the newest first; empty: there is none of this name."""
        if name.count("/") != 1 or not is_safe_relative(name):
            return []
        with self._lock:
            known, read_at, took_s = self._listed.get(name, ([], 0.0, 0.0))
            started = time.monotonic()
            if started - read_at > 2 * took_s or sum(len(repo.entries) for repo in known) < MANY_FILES:
                known = self._read(name)
                self._listed[name] = (known, time.monotonic(), time.monotonic() - started)
            return known

    def _read(self, name: str) -> list[Repo]:
        published = [self._read_published(name)] if (self._root / name).is_dir() else []
        return published + [self._read_fetched(name, folder) for folder in self._fetched_folders(name)]

    def _fetched_folders(self, name: str) -> list[Path]:
        folders = (self._root / name.replace("/", "--")).glob("*/")
        return sorted((each for each in folders if read_manifest(each)), key=lambda each: each.stat().st_mtime, reverse=True)

    def _read_published(self, name: str) -> Repo:
        folder = self._root / name
        paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and _is_shown(path.relative_to(folder)))
        entries = self._read_entries(folder, ((path.relative_to(folder).as_posix(), None, None) for path in paths))
        return Repo(name, digest_text(*(f"{entry.path} {entry.sha256}" for entry in entries.values()))[:40], entries)

    def _read_fetched(self, name: str, folder: Path) -> Repo:
        manifest, receipts = read_manifest(folder), read_receipts(WeightsFolder(folder))
        assert manifest is not None
        there = [file for file in manifest.files if is_safe_relative(file.path) and (folder / file.path).is_file()]
        entries = self._read_entries(folder, ((file.path, receipts.get(file.path), file.sha256 is not None) for file in there))
        return Repo(name, manifest.commit, entries)

    def _read_entries(self, folder: Path, wanted: Iterable[tuple[str, Receipt | None, bool | None]]) -> dict[str, Entry]:
        return {path: self._read_entry(path, folder / path, receipt, is_large) for path, receipt, is_large in wanted}

    def _read_entry(self, path: str, location: Path, receipt: Receipt | None, is_large: bool | None) -> Entry:
        stat = location.stat()
        key = (str(location), stat.st_size, stat.st_mtime_ns, stat.st_ino)
        if key not in self._known:
            is_large = path.endswith(LARGE_SUFFIXES) or stat.st_size > self._large_bytes if is_large is None else is_large
            self._known[key] = make_entry(path, location, stat, receipt, is_large=is_large)
        return self._known[key]


def make_entry(path: str, location: Path, stat: os.stat_result, receipt: Receipt | None, *, is_large: bool) -> Entry:
    """Name a file as the Hub does; it is read unless a receipt that holds has its digest."""
    sha256 = receipt.sha256 if receipt and receipt_holds(receipt, stat) else hash_file(location)
    entry = Entry(path, location, stat.st_size, sha256, "", is_large)
    content = entry.pointer if is_large else location.read_bytes()
    return Entry(path, location, stat.st_size, sha256, git_blob_oid(content), is_large)


def _is_shown(path: Path) -> bool:
    return not any(part.startswith(".") and part != ".gitattributes" for part in path.parts)
