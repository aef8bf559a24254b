"""Weights that exist nowhere else that we know of: no manifest names them, so no Hub can bring them again (a merged GGUF, a tune of one's own).

They are recorded with their own digest, can be verified against it, and are never reclaimed unasked.

    <directory>/.modelpivot/irreplaceable.json     (in the host's state for a directory that cannot be written to)
    {"files": [{"path": "GLM-5-UD-Q4_K_XL.gguf", "size": 402000000000, "sha256": "...", "recorded_at": 1790000000.0}]}
"""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic import Field

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.files import is_safe_relative, read_model, walk, write_model
from modelpivot.models.event import Tell
from modelpivot.models.frozen import Frozen
from modelpivot.models.manifest import Manifest, ManifestFile, Receipt
from modelpivot.weights.hashing import hash_whole
from modelpivot.weights.layout import OWN, WeightsFolder, is_weights
from modelpivot.weights.receipts import append_receipts, make_receipt, read_receipts, receipt_holds

NO_COMMIT = "0" * 40


class LocalFile(Frozen):
    """One file that only this directory holds."""

    path: str
    size: int = Field(ge=0)
    sha256: str
    recorded_at: float
    """Seconds since the epoch."""


class LocalFiles(Frozen):
    """What was recorded of a directory."""

    files: list[LocalFile] = Field(default_factory=list)

    @property
    def manifest(self) -> Manifest:
        """The record as something to hold files against."""
        files = [ManifestFile(path=file.path, size=file.size, sha256=file.sha256) for file in self.files]
        return Manifest(repo="local", commit=NO_COMMIT, files=files)


def record_path(folder: WeightsFolder) -> Path:
    """Where the record lies."""
    return folder.own / "irreplaceable.json"


def read_irreplaceable(folder: WeightsFolder) -> LocalFiles | None:
    """What was recorded; None: nothing was."""
    return read_model(record_path(folder), LocalFiles)


def find_irreplaceable(directory: Path, manifest: Manifest | None) -> list[str]:
    """Weights in a directory that its manifest does not name, recorded or not; without a manifest all weights. Reads names only.

    A link is passed over: the file it leads to lies elsewhere.
    """
    known = {file.path for file in manifest.files} if manifest else set()
    found = []
    for place, folders, names in walk(directory):
        folders[:] = sorted(each for each in folders if each not in (OWN, ".cache"))
        paths = [Path(place) / name for name in names if is_weights(name)]
        found += [path.relative_to(directory).as_posix() for path in paths if path.is_file() and not path.is_symlink()]
    return sorted(path for path in found if path not in known and is_safe_relative(path))


def record_irreplaceable(folder: WeightsFolder, manifest: Manifest | None, *, tell: Tell) -> LocalFiles:
    """Hash what no manifest names and keep its digests; nothing is hashed that a receipt still proves, nor written where nothing is new.

    PreconditionError when there is nothing to record, IntegrityError when a file is no longer the one that was recorded.
    """
    names = find_irreplaceable(folder.root, manifest)
    if not names:
        raise PreconditionError(f"{folder.root}: expected weights that no manifest names, found none", hint="there is nothing to record")
    before = read_irreplaceable(folder) or LocalFiles()
    kept = {file.path: file for file in before.files}
    proofs = _prove(folder, names, tell)
    _refuse_changed(folder, kept, proofs)
    new = [
        LocalFile(path=each.path, size=each.size, sha256=each.sha256, recorded_at=time.time()) for each in proofs if each.path not in kept
    ]
    after = LocalFiles(files=sorted([*before.files, *new], key=lambda file: file.path))
    if new:
        write_model(record_path(folder), after)
    for file in new:
        tell("warning", f"{file.path} exists nowhere else that we know of: recorded with its own digest, never reclaimed unasked")
    return after


def _prove(folder: WeightsFolder, names: Sequence[str], tell: Tell) -> list[Receipt]:
    """A receipt for every name, several at once."""
    receipts, stop, proofs = read_receipts(folder), threading.Event(), []
    total, done = sum((folder.root / name).stat().st_size for name in names), 0

    def prove(name: str) -> Receipt:
        path, receipt = folder.root / name, receipts.get(name)
        if receipt is not None and receipt_holds(receipt, path.stat()):
            return receipt
        digests = hash_whole(path, wants_git=False, stop=stop)
        if digests is None:
            raise PreconditionError(f"{path}: told to stop before it was hashed", hint="run it again")
        return make_receipt(name, digests.stat, sha256=digests.sha256, git_oid=None)

    with ThreadPoolExecutor(os.cpu_count() or 2, thread_name_prefix="record") as pool:
        try:
            for proof in pool.map(prove, names):
                proofs.append(proof)
                done += proof.size
                tell("progress", "", done=done, total=total, unit="B")
        finally:
            stop.set()
    append_receipts(folder, (proof for proof in proofs if receipts.get(proof.path) != proof))
    return proofs


def _refuse_changed(folder: WeightsFolder, kept: dict[str, LocalFile], proofs: Sequence[Receipt]) -> None:
    for proof in proofs:
        file = kept.get(proof.path)
        if file is not None and file.sha256 != proof.sha256:
            raise IntegrityError(
                f"{folder.root / proof.path}: HASH_MISMATCH: recorded with {file.sha256}, found {proof.sha256}",
                hint=f"bring the right file back, or remove its entry from {record_path(folder)} if it was changed on purpose",
            )
