"""The directory that one release serves: weights linked, small files copied, and patched contents in place of theirs. The fetched directory stays as it is.

view/model-00001-of-00009.safetensors -> <weights dir>/model-00001-of-00009.safetensors
     config.json                         a file of its own, patched where a rule says so
     .modelpivot/patched.json            digests before and after of what was patched, and the patches
                 manifest.json           what the view is held against (modelpivot verify)

Where `modelpivot patch` changed the fetched directory itself, what it keeps of the files as they were is taken.
"""

import hashlib
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.files import exchange, hash_file, safe_join, sync_directory, write_atomic, write_model
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.patch import Patch
from modelpivot.weights.layout import OWN, WeightsFolder, is_weights, require_safe
from modelpivot.weights.manifest import write_manifest
from modelpivot.weights.patched import PatchRecord, fetched_file, patch_record_path, read_record

SMALL_BYTES = 64 << 20
"""Larger files are linked whatever their name."""


def make_view(view_dir: Path, weights_dir: Path, manifest: Manifest, patched: Mapping[str, str], patches: Sequence[Patch] = ()) -> None:
    """Lay the view out beside its place and rename it there; nothing to do when it stands there alike. One that stands gets its manifest alone.

    `patched` holds the whole new text of a file by its path, `patches` what made it so. PreconditionError when it names a file that the manifest
    has not, or is linked.
    """
    require_safe(manifest)
    _check_patched(manifest, patched)
    for left in view_dir.parent.glob(f".{view_dir.name}.*.*"):
        shutil.rmtree(left, ignore_errors=True)
    if is_view_right(view_dir, weights_dir, manifest, patched):
        write_manifest(WeightsFolder(view_dir), manifest)
        return
    view_dir.parent.mkdir(parents=True, exist_ok=True)
    fresh = view_dir.with_name(f".{view_dir.name}.{secrets.token_hex(4)}.tmp")
    try:
        _lay_out(fresh, weights_dir, manifest, patched)
        _record(fresh, weights_dir, manifest, patched, patches)
        _replace_directory(view_dir, fresh)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def is_view_right(view_dir: Path, weights_dir: Path, manifest: Manifest, patched: Mapping[str, str]) -> bool:
    """Whether the view stands there as `make_view` would make it: same names, links to the same files, same contents."""
    if not patch_record_path(view_dir).is_file() or _names(view_dir) != {file.path for file in manifest.files}:
        return False
    in_place = read_record(weights_dir)
    return all(
        _is_entry_right(view_dir / file.path, fetched_file(weights_dir, file.path, in_place), file, patched.get(file.path))
        for file in manifest.files
    )


def _check_patched(manifest: Manifest, patched: Mapping[str, str]) -> None:
    copied = {file.path for file in manifest.files if not is_linked(file)}
    if wrong := sorted(set(patched) - copied):
        raise PreconditionError(
            f"{', '.join(wrong)}: no small file of {manifest.repo}", hint="a patch can change small files of the manifest only"
        )


def is_linked(file: ManifestFile) -> bool:
    """Weights and other large files are linked; everything else is a real file in the view (remote code breaks behind links)."""
    return is_weights(file.path) or file.size > SMALL_BYTES


def _names(view_dir: Path) -> set[str]:
    """Every file and link below it; what we keep beside them (a verification leaves receipts) is none of an engine's."""
    inside = [path.relative_to(view_dir) for path in view_dir.rglob("*") if path.is_symlink() or not path.is_dir()]
    return {path.as_posix() for path in inside if path.parts[0] != OWN}


def _is_entry_right(entry: Path, fetched: Path, file: ManifestFile, text: str | None) -> bool:
    if is_linked(file):
        return entry.is_symlink() and entry.readlink() == fetched.absolute() and entry.exists()
    if entry.is_symlink():
        return False
    return entry.read_bytes() == (fetched.read_bytes() if text is None else text.encode())


def _lay_out(fresh: Path, weights_dir: Path, manifest: Manifest, patched: Mapping[str, str]) -> None:
    in_place = read_record(weights_dir)
    for file in manifest.files:
        entry, fetched = safe_join(fresh, file.path), fetched_file(weights_dir, file.path, in_place)
        entry.parent.mkdir(parents=True, exist_ok=True)
        if not fetched.is_file():
            raise IntegrityError(f"{fetched}: expected a file, found none", hint="fetch it again (modelpivot fetch)")
        if is_linked(file):
            entry.symlink_to(fetched.absolute())
        elif (text := patched.get(file.path)) is not None:
            write_atomic(entry, text)
        else:
            write_atomic(entry, fetched.read_bytes())


def _record(fresh: Path, weights_dir: Path, manifest: Manifest, patched: Mapping[str, str], patches: Sequence[Patch]) -> None:
    in_place = read_record(weights_dir)
    before = {path: hash_file(fetched_file(weights_dir, path, in_place)) for path in sorted(patched)}
    after = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in sorted(patched.items())}
    done = [patch for patch in patches if patch.file in patched]
    record = PatchRecord(repo=manifest.repo, commit=manifest.commit, before=before, after=after, patches=done)
    write_model(patch_record_path(fresh), record)
    write_manifest(WeightsFolder(fresh), manifest)


def _replace_directory(view_dir: Path, fresh: Path) -> None:
    """The two change places in one step, so that a release always has a view; where the file system cannot, the old one goes out of the way first."""
    aside = fresh.with_suffix(".old")
    if not os.path.lexists(view_dir):
        fresh.rename(view_dir)
    elif not exchange(fresh, view_dir):
        view_dir.rename(aside)
        fresh.rename(view_dir)
    sync_directory(view_dir.parent)
    shutil.rmtree(aside, ignore_errors=True)
