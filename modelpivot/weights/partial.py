"""A file on its way: bytes go to disk and through the digest in one pass; after a kill the bytes on disk are read again and the rest is fetched.

<name>.<key>.part           the bytes so far
<name>.<key>.part.marks     every 256 MiB: `<offset> <sha256 so far>`, so that what a power cut took away is found and cut off
<name>.<key>.rejected       whole but wrong, set aside
"""

import contextlib
import hashlib
import os
import threading
from pathlib import Path

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.files import sync_directory
from modelpivot.models.manifest import ManifestFile, Receipt
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.receipts import make_receipt

MARK_BYTES = 256 << 20
READ_BYTES = 1 << 20


class Digests:
    """sha256 of everything, and git's blob id where that is all the manifest names."""

    def __init__(self, file: ManifestFile) -> None:
        self._sha256 = hashlib.sha256()
        wants_git = file.sha256 is None and file.git_oid is not None
        self._git = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False) if wants_git else None

    def update(self, chunk: bytes | memoryview) -> None:
        """Take further bytes."""
        self._sha256.update(chunk)
        if self._git:
            self._git.update(chunk)

    @property
    def sha256(self) -> str:
        """Hex, of the bytes so far."""
        return self._sha256.hexdigest()

    @property
    def git_oid(self) -> str | None:
        """Hex; None: not asked for."""
        return self._git.hexdigest() if self._git else None


def expected_digest(file: ManifestFile) -> str:
    """The digest that the manifest names. IntegrityError when it names none: then nothing can be proved."""
    digest = file.sha256 or file.git_oid
    if digest is None:
        raise IntegrityError(f"{file.path}: NO_DIGEST: the Hub names neither sha256 nor blob id", hint="leave it out with model.exclude")
    return digest


class Partial:
    """The bytes of one file of the manifest so far. Used by one thread at a time."""

    def __init__(self, folder: WeightsFolder, file: ManifestFile, *, mark_bytes: int = MARK_BYTES) -> None:
        self._folder, self._file, self._mark_bytes = folder, file, mark_bytes
        self.path = folder.partial(file.path, expected_digest(file))
        self.size, self._handle, self._digests = 0, -1, Digests(file)
        self._next_mark = mark_bytes

    @property
    def _marks(self) -> Path:
        return self.path.with_name(self.path.name + ".marks")

    def open(self, stop: threading.Event) -> int:
        """Open, read what is there again, and return how many bytes of it count."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with disk_errors(self.path):
            self._handle = os.open(self.path, flags, 0o644)
            if os.fstat(self._handle).st_size > self._file.size:
                os.ftruncate(self._handle, 0)
            self._read_again(stop)
            os.lseek(self._handle, self.size, os.SEEK_SET)
        return self.size

    def write(self, chunk: bytes | memoryview) -> None:
        """Put bytes at the end, on disk first. PreconditionError when the disk is full: what was written counts."""
        rest = memoryview(chunk)
        while rest:
            with disk_errors(self.path):
                count = os.write(self._handle, rest)
            self._take(rest[:count])
            rest = rest[count:]

    def restart(self) -> None:
        """Forget all bytes."""
        with disk_errors(self.path):
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
        self._marks.unlink(missing_ok=True)
        self.size, self._digests, self._next_mark = 0, Digests(self._file), self._mark_bytes

    @property
    def is_whole(self) -> bool:
        """As many bytes as the manifest says."""
        return self.size == self._file.size

    @property
    def found_digest(self) -> str:
        """Of the kind that the manifest names."""
        return self._digests.sha256 if self._file.sha256 else (self._digests.git_oid or "")

    @property
    def is_proved(self) -> bool:
        """Whole, and the digest is the manifest's."""
        return self.is_whole and self.found_digest == expected_digest(self._file)

    def finish(self) -> Receipt:
        """Give a proved file its name: fsync, rename, fsync of the directory. IntegrityError for one that is not proved."""
        if not self.is_proved:
            raise IntegrityError(f"{self._file.path}: expected {expected_digest(self._file)}, found {self.found_digest}")
        target = self._folder.file(self._file.path)
        with disk_errors(target):
            os.fchmod(self._handle, 0o644)
            os.fsync(self._handle)
            target.parent.mkdir(parents=True, exist_ok=True)
            self.path.rename(target)
            sync_directory(target.parent)
            stat = os.fstat(self._handle)
        self._marks.unlink(missing_ok=True)
        return make_receipt(self._file.path, stat, sha256=self._digests.sha256, git_oid=self._digests.git_oid)

    def set_aside(self) -> None:
        """Keep the wrong bytes under another name for whoever looks into it, and start from nothing."""
        with disk_errors(self.path):
            self.path.rename(self.path.with_suffix(".rejected"))
        self._marks.unlink(missing_ok=True)
        self.close()
        self.size, self._digests, self._next_mark = 0, Digests(self._file), self._mark_bytes
        with disk_errors(self.path):
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_TRUNC, 0o644)

    def close(self) -> None:
        """Let go of the file; its bytes stay."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _take(self, chunk: bytes | memoryview) -> None:
        self._digests.update(chunk)
        self.size += len(chunk)
        if self.size >= self._next_mark:
            with disk_errors(self._marks), self._marks.open("a") as marks:
                marks.write(f"{self.size} {self._digests.sha256}\n")
            self._next_mark = self.size + self._mark_bytes

    def _read_again(self, stop: threading.Event) -> None:
        marks = self._read_marks()
        proved, buffer = 0, bytearray(READ_BYTES)
        self._marks.unlink(missing_ok=True)
        while not stop.is_set():
            upto = min((each for each in marks if each > self.size), default=self.size + READ_BYTES)
            count = os.preadv(self._handle, [memoryview(buffer)[: min(READ_BYTES, upto - self.size)]], self.size)
            if not count:
                break
            self._take(memoryview(buffer)[:count])
            if self.size in marks:
                if marks[self.size] != self._digests.sha256:
                    return self._cut(proved, stop)
                proved = self.size
        return None

    def _cut(self, length: int, stop: threading.Event) -> None:
        """The bytes after `length` are not those that came: drop them and read the rest again."""
        os.ftruncate(self._handle, length)
        self._marks.unlink(missing_ok=True)
        self.size, self._digests, self._next_mark = 0, Digests(self._file), self._mark_bytes
        self._read_again(stop)

    def _read_marks(self) -> dict[int, str]:
        lines = self._marks.read_text(errors="replace").splitlines() if self._marks.is_file() else []
        pairs = (line.split() for line in lines)
        return {int(pair[0]): pair[1] for pair in pairs if len(pair) == 2 and pair[0].isdigit() and len(pair[1]) == 64}


class disk_errors(contextlib.ContextDecorator):  # noqa: N801 (reads as a word at its uses)
    """The door for what the disk says: PreconditionError that names path and reason; bytes that are there stay."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to set up."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise PreconditionError(
                f"{self._path}: {error.strerror or error}",
                hint="free space or mend the directory, then run it again: what has arrived is kept",
            ) from error
