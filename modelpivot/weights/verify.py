"""Prove a directory of weights: sizes, digests (by receipt where one holds, else hashed in threads), headers and index; then one verdict."""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from modelpivot.models.event import Tell
from modelpivot.models.manifest import Manifest, ManifestFile, Problem, Receipt, ShardRow, Verified
from modelpivot.weights.crowd import settle
from modelpivot.weights.crowd import threads as workers
from modelpivot.weights.finding import Finding, find_file, row_of
from modelpivot.weights.layout import WeightsFolder, find_unsafe, is_safe_name
from modelpivot.weights.patched import read_patched
from modelpivot.weights.receipts import append_receipts, compact_receipts, read_receipts
from modelpivot.weights.verdict import judge_table
from modelpivot.weights.whole import judge_whole

TELL_EVERY_S = 0.25
FETCH_AGAIN = "fetch it again (modelpivot fetch)"
UPSTREAM = "the bytes are those that the Hub names: upstream is bad, take another revision"


def verify_directory(
    directory: Path,
    manifest: Manifest,
    *,
    is_full: bool = False,
    tell: Tell,
    receipts_elsewhere: Path | None = None,
    threads: int | None = None,
) -> Verified:
    """Everything that is wrong in one go; changes nothing but the receipts, which go to `receipts_elsewhere` where the directory is read-only.

    `is_full` hashes every file whatever its receipt says.
    """
    folder = WeightsFolder(directory)
    kept = folder if os.access(directory, os.W_OK) or receipts_elsewhere is None else WeightsFolder(directory, receipts_elsewhere)
    unsafe = find_unsafe(manifest)
    files = [file for file in manifest.files if is_safe_name(file.path)]
    findings = _find_all(folder, kept, files, is_full=is_full, tell=tell, threads=threads)
    problems = [*unsafe, *(problem for finding in findings for problem in finding.problems), *judge_whole(folder, manifest, findings)]
    table = _with_codes([row_of(finding) for finding in findings], problems)
    return Verified(directory=directory, verdict=judge_table(table, problems), table=table)


class _Counted:
    """Bytes judged so far, summed over threads, told on the caller's."""

    def __init__(self, total: int, tell: Tell) -> None:
        self._total, self._tell, self._lock = total, tell, threading.Lock()
        self._done, self._hashed, self._started, self._told_at = 0, 0, time.monotonic(), 0.0

    def add(self, count: int, is_hashed: bool) -> None:
        with self._lock:
            self._done += count
            self._hashed += count if is_hashed else 0

    def tell(self, *, is_last: bool = False) -> None:
        now = time.monotonic()
        if is_last or now - self._told_at >= TELL_EVERY_S:
            rate = round(self._hashed / max(1e-3, now - self._started))
            self._tell("progress", "", done=self._done, total=self._total, unit="B", rate=rate)
            self._told_at = now


def _find_all(
    folder: WeightsFolder, kept: WeightsFolder, files: Sequence[ManifestFile], *, is_full: bool, tell: Tell, threads: int | None
) -> list[Finding]:
    receipts = read_receipts(kept)
    known = {} if is_full else receipts
    patched = read_patched(folder.root)
    stop, counted = threading.Event(), _Counted(sum(file.size for file in files), tell)
    found: dict[str, Finding] = {}

    def look(done: "list[Future[Finding]]") -> None:
        found.update({finding.file.path: finding for finding in (future.result() for future in done)})
        counted.tell()

    def find(file: ManifestFile) -> Finding:
        return find_file(folder, file, known.get(file.path), patched, counted.add, stop)

    with workers(threads or os.cpu_count() or 2, "verify", stop) as pool:
        settle(pool, find, sorted(files, key=lambda file: -file.size), look=look)
    counted.tell(is_last=True)
    findings = [found[file.path] for file in files]
    _keep_receipts(kept, receipts, findings)
    return findings


def _keep_receipts(kept: WeightsFolder, receipts: dict[str, Receipt], findings: Sequence[Finding]) -> None:
    new = [finding.receipt for finding in findings if finding.receipt is not None and finding.hashed_now]
    try:
        append_receipts(kept, (receipt for receipt in new if receipts.get(receipt.path) != receipt))
        compact_receipts(kept, keep=[finding.file.path for finding in findings])
    except OSError:
        return  # receipts only save time: without them the next proof hashes again


def _with_codes(table: Sequence[ShardRow], problems: Sequence[Problem]) -> list[ShardRow]:
    codes: dict[str, list[str]] = {}
    for problem in problems:
        codes.setdefault(problem.file, []).append(problem.code)
    return [row.model_copy(update={"problems": ",".join(dict.fromkeys(codes.get(row.path, [])))}) for row in table]
