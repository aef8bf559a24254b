"""Receipts: proof on disk that a file had a digest, for as long as its identity is the same. A cache written by proof, never by a fact.

One line of JSON a proof, appended in one write, so that a kill leaves at most a torn last line, which counts for nothing:
    {"path":"config.json","size":702,"mtime_ns":...,"ctime_ns":...,"inode":...,"device":...,"sha256":"...","git_oid":null,"proved_at":...}
"""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from modelpivot.files import write_atomic
from modelpivot.models.manifest import Manifest, ManifestFile, Receipt
from modelpivot.weights.layout import WeightsFolder


def make_receipt(path: str, stat: os.stat_result, *, sha256: str, git_oid: str | None) -> Receipt:
    """A receipt for a file whose bytes were just hashed."""
    return Receipt(
        path=path,
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        ctime_ns=stat.st_ctime_ns,
        inode=stat.st_ino,
        device=stat.st_dev,
        sha256=sha256,
        git_oid=git_oid,
        proved_at=time.time(),
    )


def receipt_holds(receipt: Receipt, stat: os.stat_result) -> bool:
    """Whether the file is still the one that was proved: same size, times, inode and device."""
    now = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev)
    return now == (receipt.size, receipt.mtime_ns, receipt.ctime_ns, receipt.inode, receipt.device)


def receipt_proves(receipt: Receipt | None, file: ManifestFile, stat: os.stat_result) -> bool:
    """Whether the receipt still holds and is for the very bytes that the manifest names."""
    if receipt is None or not receipt_holds(receipt, stat) or receipt.size != file.size:
        return False
    if file.sha256 is not None:
        return receipt.sha256 == file.sha256
    return file.git_oid is not None and receipt.git_oid == file.git_oid


def is_proved(folder: WeightsFolder, receipts: Mapping[str, Receipt], file: ManifestFile) -> bool:
    """Whether a file lies there whole, by its receipt alone."""
    try:
        return receipt_proves(receipts.get(file.path), file, (folder.root / file.path).stat())
    except OSError:
        return False


def unproved_files(folder: WeightsFolder, manifest: Manifest) -> list[ManifestFile]:
    """The files of a manifest that no receipt proves, in its order."""
    receipts = read_receipts(folder)
    return [file for file in manifest.files if not is_proved(folder, receipts, file)]


def read_receipts(folder: WeightsFolder) -> dict[str, Receipt]:
    """The last receipt of every file; empty when there are none. Lines that are no receipt count for nothing."""
    try:
        lines = folder.receipts.read_bytes().splitlines()
    except OSError:
        return {}
    receipts = (_parse(line) for line in lines)
    return {receipt.path: receipt for receipt in receipts if receipt is not None}


def append_receipts(folder: WeightsFolder, receipts: Iterable[Receipt]) -> None:
    """Add proofs; nothing to do for none. Not synced: a lost receipt costs one more hashing, and what it proves is synced before."""
    content = "".join(receipt.model_dump_json() + "\n" for receipt in receipts).encode()
    if not content:
        return
    folder.own.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder.receipts, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(handle, _mend_torn_end(handle) + content)
    finally:
        os.close(handle)


def compact_receipts(folder: WeightsFolder, *, keep: Iterable[str]) -> None:
    """Rewrite the file with one line for each path of `keep`, when more than half of its lines are over."""
    receipts = read_receipts(folder)
    kept = [receipts[path].model_dump_json() for path in keep if path in receipts]
    if _count_lines(folder.receipts) > 2 * len(kept) + 16:
        write_atomic(folder.receipts, "".join(line + "\n" for line in kept))


def _mend_torn_end(handle: int) -> bytes:
    size = os.fstat(handle).st_size
    return b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""


def _count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def _parse(line: bytes) -> Receipt | None:
    try:
        return Receipt.model_validate_json(line)
    except ValidationError:
        return None
