"""Bring the files of a manifest into a directory: several at once, resumable to the last byte, each under its name only when it is proved.

The caller's own thread tells the progress and watches the bytes; the files are carried by threads.
"""

import os
import queue
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from modelpivot.errors import IntegrityError, PivotError
from modelpivot.models.event import Tell
from modelpivot.models.manifest import Manifest, ManifestFile, Receipt
from modelpivot.weights.crowd import settle, threads
from modelpivot.weights.hub_transport import HubTransport
from modelpivot.weights.job import Job, Progress, Stopped, UpstreamBad, Work
from modelpivot.weights.layout import WeightsFolder, require_safe
from modelpivot.weights.local import adopt_named
from modelpivot.weights.manifest import write_manifest
from modelpivot.weights.pace import Pace, Slots
from modelpivot.weights.partial import expected_digest
from modelpivot.weights.receipts import append_receipts, unproved_files
from modelpivot.weights.reconnect import Patience
from modelpivot.weights.space import check_space, held, make_directory, size_on_disk, sweep_partials
from modelpivot.weights.transport import open_origin
from modelpivot.weights.watch import Watch


@dataclass(frozen=True)
class FetchOptions:
    """How a fetch behaves; the defaults suit a host on a fast line."""

    connections: int = 8
    """Most files in flight."""
    start_connections: int = max(4, min(8, os.cpu_count() or 4))
    max_rate: float | None = None
    """Bytes a second; None: no limit."""
    reserve_bytes: int = 0
    """Bytes that must stay free on the file system."""
    stall_s: float = 30
    """Without a byte for so long, a connection is given up."""
    patience: Patience = field(default_factory=Patience)
    origin: str | None = None
    """Directory or Hub-compatible address to take files from first."""


@dataclass(frozen=True)
class FetchResult:
    """What a fetch did."""

    files: int
    """Files that got their name now."""
    fetched_bytes: int
    """Bytes that came over the wire."""
    resumed_bytes: int
    """Bytes of earlier partial downloads that were used."""
    reconnects: int
    seconds: float


@dataclass
class Fetch:
    """One fetch while it runs."""

    work: Work
    progress: list[Progress]
    total_bytes: int
    before_bytes: int
    """Of files that were whole already."""
    notes: "queue.SimpleQueue[str]"
    failures: list[PivotError] = field(default_factory=list)
    named: int = 0

    @property
    def done_bytes(self) -> int:
        """Whole files and the bytes so far of the others."""
        return self.before_bytes + sum(each.done for each in self.progress)

    @property
    def fetched_bytes(self) -> int:
        """Bytes over the wire."""
        return sum(each.fetched for each in self.progress)


def fetch_manifest(
    manifest: Manifest, directory: Path, *, endpoint: str, token: str | None = None, tell: Tell, options: FetchOptions | None = None
) -> FetchResult:
    """Bring in what is missing; nothing to do when every file has its receipt.

    PreconditionError before the first byte (space, names, refused by the Hub) or when the disk fills; IntegrityError names every file that
    upstream serves wrong; TransientError when patience ran out. Whatever arrived is kept, and the next call goes on there.
    """
    options, started, folder = options or FetchOptions(), time.monotonic(), WeightsFolder(directory)
    require_safe(manifest)
    for file in manifest.files:
        expected_digest(file)
    missing = unproved_files(folder, manifest)
    if not missing:
        return FetchResult(0, 0, 0, 0, time.monotonic() - started)
    make_directory(folder)
    with held(folder):
        sweep_partials(folder, missing)
        check_space(folder, missing, options.reserve_bytes)
        write_manifest(folder, manifest)
        fetch = _prepare(manifest, missing, folder, endpoint, token, options)
        resumed = sum(size_on_disk(folder, file) for file in missing)
        _run(fetch, tell, options)
        sweep_partials(folder, [])
    return FetchResult(
        fetch.named, fetch.fetched_bytes, resumed, sum(each.reconnects for each in fetch.progress), time.monotonic() - started
    )


def _prepare(
    manifest: Manifest, missing: list[ManifestFile], folder: WeightsFolder, endpoint: str, token: str | None, options: FetchOptions
) -> Fetch:
    home = open_origin(endpoint, manifest, token=token, connections=options.connections, stall_s=options.stall_s)
    first = [open_origin(options.origin, manifest, stall_s=options.stall_s)] if options.origin else []
    notes: queue.SimpleQueue[str] = queue.SimpleQueue()
    work = Work(
        folder=folder,
        origins=[*first, home],
        patience=options.patience,
        pace=Pace(options.max_rate),
        slots=Slots(options.start_connections, options.connections),
        ends_at=time.monotonic() + options.patience.deadline_s,
        note=notes.put,
        fallback=HubTransport(endpoint, manifest, folder.partials, token=token),
    )
    largest_first = sorted(missing, key=lambda file: -file.size)
    total, to_come = manifest.bytes_total, sum(file.size for file in missing)
    return Fetch(work, [Progress(file) for file in largest_first], total, total - to_come, notes)


def _run(fetch: Fetch, tell: Tell, options: FetchOptions) -> None:
    """Carry all files; the first failure that is not of one file alone stops the others. Raises what stopped it."""
    watch = Watch(fetch, tell, stall_s=options.stall_s)

    def look(done: "list[Future[Receipt | None]]") -> None:
        _settle(fetch, done)
        watch.look()

    with threads(options.connections, "fetch", fetch.work.stop, on_end=watch.abort_all) as pool:
        settle(pool, partial(_carry, fetch.work), fetch.progress, look=look, interval_s=watch.interval_s)
    watch.look(is_last=True)
    _raise_failures(fetch)


def _carry(work: Work, progress: Progress) -> Receipt | None:
    if not work.slots.acquire(work.stop):
        return None
    try:
        return adopt_named(work, progress) or Job(work, progress).run()
    except Stopped:
        return None
    finally:
        work.slots.release()


def _settle(fetch: Fetch, done: "list[Future[Receipt | None]]") -> None:
    receipts = []
    for future in done:
        try:
            receipt = future.result()
        except UpstreamBad as error:
            fetch.failures.append(error)
        except PivotError as error:
            fetch.failures.append(error)
            fetch.work.stop.set()
        else:
            receipts += [receipt] if receipt else []
    fetch.named += len(receipts)
    append_receipts(fetch.work.folder, receipts)


def _raise_failures(fetch: Fetch) -> None:
    others = [error for error in fetch.failures if not isinstance(error, UpstreamBad)]
    if others:
        raise others[0]
    bad = [error.problem for error in fetch.failures if isinstance(error, UpstreamBad)]
    if bad:
        raise IntegrityError("upstream is bad:\n  " + "\n  ".join(str(problem) for problem in bad), hint=bad[0].remedy)
