"""What is found of one file held against its manifest: size, digest, header; every problem with its code and remedy, never an exception."""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from modelpivot.files import hash_file
from modelpivot.models.manifest import ManifestFile, Problem, Receipt, ShardRow
from modelpivot.weights.content import PEEK_BYTES, looks_like, read_pointer
from modelpivot.weights.gguf import Split, read_gguf
from modelpivot.weights.hashing import hash_whole
from modelpivot.weights.headers import BadHeader, Header, read_header
from modelpivot.weights.layout import WeightsFolder, is_weights
from modelpivot.weights.receipts import make_receipt, receipt_proves

FETCH_AGAIN = "fetch it again (modelpivot fetch)"
UPSTREAM = "the bytes are those that the Hub names: upstream is bad, take another revision"
NO_HEADER = frozenset({"LFS_POINTER", "ERROR_PAGE", "EMPTY", "MISSING", "UNREADABLE"})
OnBytes = Callable[[int, bool], None]
"""Takes how many bytes were judged, and whether they were hashed now."""


@dataclass(frozen=True)
class Finding:
    """What was found of one file."""

    file: ManifestFile
    size: int | None = None
    digest: str | None = None
    receipt: Receipt | None = None
    hashed_now: bool = False
    header: Header | None = None
    problems: tuple[Problem, ...] = ()
    split: Split | None = None
    """GGUF only: which part of how many the file says it is."""
    patched_digest: str | None = None
    """sha256 that the file has after a patch; None: it is not patched."""

    def problem(self, code: str, expected: object, found: object, remedy: str) -> "Finding":
        """The same finding with one problem more."""
        entry = {"file": self.file.path, "code": code, "expected": str(expected), "found": str(found), "remedy": remedy}
        return replace(self, problems=(*self.problems, Problem.model_validate(entry)))


def find_file(
    folder: WeightsFolder, file: ManifestFile, receipt: Receipt | None, patched: Mapping[str, str], on_bytes: OnBytes, stop: threading.Event
) -> Finding:
    """Everything about one file; never raises for what is wrong with it."""
    path, finding = folder.root / file.path, Finding(file, patched_digest=patched.get(file.path))
    try:
        stat = path.stat()
        finding = replace(finding, size=stat.st_size)
        finding = _find_content(path, stat, finding, receipt, on_bytes, stop)
        return _find_header(path, finding) if file.path.endswith((".safetensors", ".gguf")) else finding
    except FileNotFoundError:
        on_bytes(file.size, False)
        return finding.problem("MISSING", f"{file.size} bytes", "no file", FETCH_AGAIN)
    except OSError as error:
        return finding.problem("UNREADABLE", f"{file.size} bytes", error.strerror or error, "look at the disk and at the file's rights")


def _find_content(
    path: Path, stat: os.stat_result, finding: Finding, receipt: Receipt | None, on_bytes: OnBytes, stop: threading.Event
) -> Finding:
    file = finding.file
    if finding.patched_digest and (patched := hash_file(path)) == finding.patched_digest:
        on_bytes(file.size, True)
        return replace(finding, digest=patched, hashed_now=True).problem(
            "PATCHED", file.sha256 or file.git_oid, patched, "none: a rule says so"
        )
    if stat.st_size != file.size:
        on_bytes(file.size, False)
        return _wrong_size(path, finding)
    expected = file.sha256 or file.git_oid
    if expected is None:
        return finding.problem("NO_DIGEST", "a digest in the manifest", "none", "take the manifest from the Hub again")
    if receipt_proves(receipt, file, stat):
        on_bytes(file.size, False)
        return replace(finding, digest=expected, receipt=receipt)
    digests = hash_whole(path, wants_git=file.sha256 is None, on_bytes=lambda count: on_bytes(count, True), stop=stop)
    if digests is None:
        return finding.problem("UNREADABLE", "to be hashed", "stopped before", "run it again")
    found = digests.sha256 if file.sha256 else digests.git_oid
    made = make_receipt(file.path, digests.stat, sha256=digests.sha256, git_oid=digests.git_oid)
    finding = replace(finding, digest=found, hashed_now=True, receipt=made if found == expected else None)
    return finding if found == expected else _wrong_digest(path, finding, expected, found)


def _wrong_size(path: Path, finding: Finding) -> Finding:
    file, size = finding.file, finding.size
    first = _peek(path)
    code = looks_like(first) if is_weights(file.path) or not first else None
    if code == "LFS_POINTER":
        sha256, length = read_pointer(first) or ("", 0)
        fits = "of this very file" if (sha256, length) == (file.sha256, file.size) else "of another file"
        return finding.problem(
            code, f"{file.size} bytes", f"a Git LFS pointer {fits}", "the file itself was never fetched: modelpivot fetch"
        )
    return finding.problem(code or "SIZE_MISMATCH", f"{file.size} bytes", f"{size} bytes", FETCH_AGAIN)


def _wrong_digest(path: Path, finding: Finding, expected: str, found: str | None) -> Finding:
    code = looks_like(_peek(path)) if is_weights(finding.file.path) else None
    return finding.problem(code or "HASH_MISMATCH", expected, found, FETCH_AGAIN)


def _find_header(path: Path, finding: Finding) -> Finding:
    if any(problem.code in NO_HEADER for problem in finding.problems):
        return finding
    remedy = FETCH_AGAIN if finding.problems else UPSTREAM
    kind = path.suffix.removeprefix(".")
    try:
        header, split = read_gguf(path) if kind == "gguf" else (read_header(path), None)
    except BadHeader as error:
        return finding.problem(error.code, f"a {kind} header", error.message, remedy)
    finding = replace(finding, header=header, split=split)
    is_part = split is not None and split.count > 1
    return finding if header.tensors or is_part else finding.problem("EMPTY", "tensors", "a header without any", remedy)


def _peek(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(PEEK_BYTES)


def row_of(finding: Finding) -> ShardRow:
    """Its row of the shard table, without the codes."""
    file, header = finding.file, finding.header
    return ShardRow(
        path=file.path,
        is_weights=is_weights(file.path),
        expected_size=file.size,
        found_size=finding.size,
        expected_digest=file.sha256 or file.git_oid,
        found_digest=finding.digest,
        digest_kind="sha256" if file.sha256 else ("git_oid" if file.git_oid else None),
        tensors=len(header.tensors) if header else None,
        dtypes=header.dtypes if header else "",
        hashed_now=finding.hashed_now,
    )
