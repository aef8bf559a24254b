"""Room for a fetch: the directory, the one process that may fill it, the bytes that must fit, and what earlier fetches left behind."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from modelpivot.errors import HostHeld, PreconditionError
from modelpivot.models.manifest import ManifestFile
from modelpivot.weights.layout import WeightsFolder


def make_directory(folder: WeightsFolder) -> None:
    """Make the directory and what we keep in it. PreconditionError when it cannot be written to, or a link stands in its place."""
    if folder.own.is_symlink():
        raise PreconditionError(f"{folder.own} is a link", hint="remove it: downloads must not leave their directory")
    try:
        folder.partials.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PreconditionError(f"{folder.partials}: {error.strerror}", hint="make it writable, or choose another weights root") from error


@contextlib.contextmanager
def held(folder: WeightsFolder) -> Iterator[None]:
    """One fetch at a time into a directory. HostHeld when another process is at it."""
    handle = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise HostHeld(f"another process fetches into {folder.root}", hint="wait for it to end") from error
        yield
    finally:
        os.close(handle)


def size_on_disk(folder: WeightsFolder, file: ManifestFile) -> int:
    """Bytes of the partial download of a file; 0: none."""
    try:
        size = folder.partial(file.path, file_key(file)).lstat().st_size
    except OSError:
        return 0
    return size if size <= file.size else 0


def missing_bytes(folder: WeightsFolder, missing: Sequence[ManifestFile]) -> int:
    """Bytes still to come, partial downloads counted as there."""
    return sum(file.size - size_on_disk(folder, file) for file in missing)


def check_space(folder: WeightsFolder, missing: Sequence[ManifestFile], reserve_bytes: int) -> None:
    """PreconditionError when the missing bytes and the reserve do not fit."""
    needed, free = missing_bytes(folder, missing) + reserve_bytes, shutil.disk_usage(folder.root).free
    if needed > free:
        raise PreconditionError(
            f"{folder.root}: expected {needed:,} bytes free ({reserve_bytes:,} of them to stay free), found {free:,}",
            hint=f"free {needed - free:,} bytes, or choose another weights root",
        )


def sweep_partials(folder: WeightsFolder, missing: Sequence[ManifestFile]) -> None:
    """Remove what no missing file can use: partial downloads of other commits, and files set aside. The caller holds the directory."""
    wanted = {folder.partial(file.path, file_key(file)).name for file in missing}
    with os.scandir(folder.partials) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name.removesuffix(".marks") not in wanted:
                Path(entry.path).unlink()


def file_key(file: ManifestFile) -> str:
    """The digest that tells a partial download from one of another commit."""
    return file.sha256 or file.git_oid or ""
