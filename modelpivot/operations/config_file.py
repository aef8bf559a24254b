"""Small files of a plain directory patched in place, and put back. One file at a time is replaced by name, so a kill leaves it old or new, never between.

The file as it was is kept first (`weights/patched.py` draws where), then the record is written, then the name gets its new file. A link is never
followed: its name gets a file of its own, and what it led to stays as it is; a hard link is cut the same way.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from modelpivot.errors import PreconditionError
from modelpivot.files import hash_file, safe_join, sync_directory, write_atomic, write_model
from modelpivot.models.recipe import Patch
from modelpivot.weights.layout import OWN
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.patched import PatchRecord, original_path, patch_record_path, read_record


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Nobody else patches or puts back meanwhile. PreconditionError where what we keep would land elsewhere, through a link."""
    if (directory / OWN).is_symlink():
        raise PreconditionError(f"{directory / OWN}: expected a folder of our own, found a link", hint="remove the link")
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some network file systems lock no directories; every step stands a second patch beside it
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def patch_files(directory: Path, changed: Mapping[str, str], patches: Sequence[Patch]) -> None:
    """Give each file its new text; nothing to do for none. They are replaced in the order of `changed`. Called with the directory held."""
    if not changed:
        return
    record = read_record(directory) or _new_record(directory)
    found = {path: hash_file(safe_join(directory, path)) for path in changed}
    anew = [path for path in changed if found[path] not in record.patched_digests(path)]
    links = {path: link for path, link in record.links.items() if path not in anew}
    for path in anew:
        links |= _keep(directory, path)
    standing = [patch for patch in record.patches if patch.file not in anew]
    update = {
        "before": {**record.before, **{path: found[path] for path in anew}},
        "after": {**record.after, **{path: hashlib.sha256(text.encode()).hexdigest() for path, text in changed.items()}},
        "earlier": {path: found[path] for path in changed if path not in anew},
        "links": links,
        "patches": standing + [patch for patch in patches if patch.file in changed and patch not in standing],
    }
    write_model(patch_record_path(directory), record.model_copy(update=update))
    for path, text in changed.items():
        _replace(directory, path, text)


def revert_files(directory: Path) -> list[str]:
    """Put every patched file back, the very file that was there; a name that was a link is one again. The paths put back; none: nothing to do.

    PreconditionError, before anything is touched, when a file is neither as it was patched nor as it was before. Called with the directory held.
    """
    record = read_record(directory)
    if record is None:
        return []
    patched = [path for path in record.after if is_patched(directory, path, record)]
    for path in patched:
        _put_back(directory, path, record.links.get(path))
    _forget(directory)
    return patched


def is_patched(directory: Path, path: str, record: PatchRecord) -> bool:
    """False: it is as it was before. PreconditionError when it is neither, or nothing is kept of it."""
    here = safe_join(directory, path)
    found = hash_file(here) if here.is_file() else "no file"
    if found == record.before[path]:
        return False
    if found not in record.patched_digests(path):
        raise PreconditionError(
            f"{here}: expected the patched file ({record.after[path][:12]}) or the one before ({record.before[path][:12]}), "
            f"found another ({found[:12]}); nothing was put back",
            hint="somebody changed it since; fetch it again, or put it right by hand",
        )
    kept = original_path(directory, path)
    if not kept.is_file() or hash_file(kept) != record.before[path]:
        raise PreconditionError(f"{kept}: expected the file as it was, found none or another", hint="fetch it again (modelpivot fetch)")
    return True


def _new_record(directory: Path) -> PatchRecord:
    manifest = read_manifest(directory)
    return PatchRecord(repo=manifest.repo, commit=manifest.commit) if manifest else PatchRecord()


def _fresh(directory: Path, path: str) -> Path:
    """Where a file is made before it gets its name: a kill leaves it there, and the next call takes it away."""
    fresh = directory / OWN / "fresh" / path
    fresh.parent.mkdir(parents=True, exist_ok=True)
    fresh.unlink(missing_ok=True)
    return fresh


def _move(fresh: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh.rename(target)
    sync_directory(target.parent)


def _keep(directory: Path, path: str) -> dict[str, str]:
    """Keep the file as it is: a second name of the very file, or a copy of what a link leads to. Answers where the link led."""
    here, fresh = directory / path, _fresh(directory, path)
    if here.is_symlink():
        shutil.copy2(here, fresh)
    else:
        _link_or_copy(here, fresh)
    _move(fresh, original_path(directory, path))
    return {path: str(here.readlink())} if here.is_symlink() else {}


def _link_or_copy(here: Path, fresh: Path) -> None:
    """A copy where the file system has no hard links, or may not make this one."""
    try:
        fresh.hardlink_to(here)
    except OSError:
        shutil.copy2(here, fresh)


def _replace(directory: Path, path: str, text: str) -> None:
    here, fresh = directory / path, _fresh(directory, path)
    stat = here.stat()
    write_atomic(fresh, text, mode=stat.st_mode & 0o777, owner=(stat.st_uid, stat.st_gid))
    _move(fresh, here)


def _put_back(directory: Path, path: str, link: str | None) -> None:
    here, kept = directory / path, original_path(directory, path)
    if link is None:
        _move(kept, here)
        return
    fresh = _fresh(directory, path)
    fresh.symlink_to(link)
    is_there = (here.parent / link).is_file() and hash_file(here.parent / link) == hash_file(kept)
    _move(fresh if is_there else kept, here)


def _forget(directory: Path) -> None:
    """The record goes first: without it, what is kept says nothing."""
    patch_record_path(directory).unlink()
    sync_directory(directory / OWN)
    for name in ("original", "fresh"):
        shutil.rmtree(directory / OWN / name, ignore_errors=True)
    with suppress(OSError):
        (directory / OWN).rmdir()
