"""One file brought in: opened at the right offset, streamed to disk and hashed, tried again by kind of failure, proved, named."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from modelpivot.errors import IntegrityError, PivotError, PreconditionError, TransientError
from modelpivot.models.manifest import ManifestFile, Problem, Receipt
from modelpivot.weights.answers import LinkRefused, Overloaded, Refused, WrongAnswer
from modelpivot.weights.body import Body
from modelpivot.weights.gather import Gather
from modelpivot.weights.hub_transport import HubTransport
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.pace import Pace, Slots
from modelpivot.weights.partial import Partial, expected_digest
from modelpivot.weights.reconnect import Patience, Tries
from modelpivot.weights.transport import Origin

GIVE_UP_ORIGIN = 3
"""Failures in a row after which a place that is not the last one is given up for this file."""


class Stopped(PivotError):
    """Told to stop; what has arrived is kept."""


class UpstreamBad(IntegrityError):
    """The other side serves bytes that are not the manifest's, and does so again: trying further does not help."""

    def __init__(self, message: str, *, problem: Problem) -> None:
        super().__init__(message, hint=problem.remedy)
        self.problem = problem


@dataclass
class Progress:
    """How far one file is; written by its own thread, read by the others."""

    file: ManifestFile
    done: int = 0
    fetched: int = 0
    """Bytes that came over the wire in this run."""
    reconnects: int = 0
    state: str = "waiting"
    """waiting, reading again, receiving, writing, naming, done."""
    body: Body | None = None


@dataclass
class Work:
    """What all files of one fetch share."""

    folder: WeightsFolder
    origins: Sequence[Origin]
    patience: Patience
    pace: Pace
    slots: Slots
    ends_at: float
    stop: threading.Event = field(default_factory=threading.Event)
    fallback: HubTransport | None = None
    """Another transport, for files that came with wrong bytes."""
    given_up: set[str] = field(default_factory=set)
    """Names of places that did not answer: files that begin later do not try them."""
    note: Callable[[str], None] = lambda text: None
    """Takes a warning; safe to call from any thread."""


class Job:
    """One file."""

    def __init__(self, work: Work, progress: Progress) -> None:
        self._work, self._progress, self._file = work, progress, progress.file
        self._partial = Partial(work.folder, progress.file)
        self._tries = Tries(work.patience, work.ends_at, work.stop)
        self._origin = next((n for n, each in enumerate(work.origins) if each.name not in work.given_up), len(work.origins) - 1)
        self._wrong, self._digests_seen = 0, []  # type: tuple[int, list[str]]
        self._is_fallback, self._resumed = False, 0

    def run(self) -> Receipt:
        """The file under its name, with its receipt. UpstreamBad, Refused, TransientError (given up) or PreconditionError (disk)."""
        try:
            self._progress.state = "reading again"
            self._progress.done = self._resumed = self._partial.open(self._work.stop)
            while not self._partial.is_proved:
                self._tries.run(self._receive, on_failure=self._failed)
                self._judge_digest()
            self._progress.state = "naming"
            receipt = self._partial.finish()
            self._progress.state = "done"
            return receipt
        finally:
            self._partial.close()

    def _receive(self) -> None:
        """One connection's worth of bytes, up to the end of the file."""
        if self._work.stop.is_set():
            raise Stopped(f"{self._file.path}: stopped at {self._partial.size} of {self._file.size} bytes")
        if self._partial.is_whole:
            return
        try:
            body = self._open()
        except WrongAnswer as error:
            self._count_wrong(error)
            raise
        try:
            self._progress.body, self._progress.state = body, "receiving"
            self._stream(body)
        finally:
            self._progress.body = None
            body.close()

    def _open(self) -> Body:
        if self._is_fallback and self._work.fallback:
            self._is_fallback = False
            return self._work.fallback.open(self._file, self._partial.size)
        origin = self._work.origins[self._origin]
        try:
            return origin.open(self._file, self._partial.size)
        except (Refused, WrongAnswer):
            if not self._take_next_origin(f"not to be had from {origin.name}"):
                raise
            return self._open()

    def _take_next_origin(self, why: str) -> bool:
        """Go on with the next place. False: this was the last."""
        if self._origin + 1 == len(self._work.origins):
            return False
        self._origin += 1
        self._work.note(f"{self._file.path}: {why}; taken from {self._work.origins[self._origin].name}")
        return True

    def _stream(self, body: Body) -> None:
        """Everything from the offset that we have; bytes before it, from a side that passes ranges over, are read and dropped."""
        gather = Gather(body, to_skip=self._partial.size - body.start, to_come=self._file.size - self._partial.size, take=self._take)
        piece_bytes = self._work.pace.chunk_bytes(gather.size)
        with gather:
            while gather.is_wanting:
                count = gather.receive(piece_bytes)
                self._progress.fetched += count
                if not count:
                    raise TransientError(f"{self._file.path}: ended at {self._file.size - gather.to_come} of {self._file.size} bytes")
                if self._work.stop.is_set():
                    raise Stopped(f"{self._file.path}: stopped at {self._file.size - gather.to_come} of {self._file.size} bytes")
                self._work.pace.wait(count)

    def _take(self, piece: memoryview) -> None:
        """New bytes of the file: on disk, and through the digest."""
        self._progress.state = "writing"
        self._partial.write(piece)
        self._progress.state = "receiving"
        self._progress.done = self._partial.size
        self._tries.progressed()
        self._wrong = 0

    def _failed(self, error: TransientError) -> None:
        """Between two tries, on the file's own thread."""
        self._progress.state, self._progress.reconnects = "waiting", self._progress.reconnects + 1
        if isinstance(error, Overloaded):
            self._work.slots.back_off()
        if isinstance(error, LinkRefused):
            self._count_refused_link(error)
        here = self._work.origins[self._origin].name
        if self._tries.failures >= GIVE_UP_ORIGIN and self._take_next_origin(error.message):
            self._work.given_up.add(here)
            return
        if self._tries.failures in (3, 10, 30):
            self._work.note(f"{error.message}; tried {self._tries.failures} times without a new byte")

    def _count_wrong(self, error: WrongAnswer) -> None:
        self._wrong += 1
        self._work.origins[self._origin].renew()
        if self._wrong >= self._work.patience.wrong_answers:
            raise self._bad(error.code, f"{self._file.size} bytes", error.message) from error

    def _count_refused_link(self, error: LinkRefused) -> None:
        if self._tries.failures >= 3 * self._work.patience.wrong_answers:
            raise PreconditionError(
                error.message, hint="the store refuses fresh links too: look at the host's clock and at the way to the store"
            )

    def _judge_digest(self) -> None:
        """Wrong bytes are set aside; the same wrong bytes twice, or wrong ones too often, are upstream's.

        The other transport is taken when all bytes came over the wire: after a resume the disk may have spoilt them.
        """
        if self._partial.is_proved:
            return
        found, expected = self._partial.found_digest, expected_digest(self._file)
        self._digests_seen.append(found)
        self._partial.set_aside()
        self._progress.done = 0
        self._work.note(f"{self._file.path}: HASH_MISMATCH: expected {expected}, found {found}; set aside, fetched again another way")
        is_same_again = self._digests_seen.count(found) > 1
        if is_same_again and self._take_next_origin("the same wrong bytes twice"):
            return
        if is_same_again or len(self._digests_seen) > self._work.patience.wrong_answers:
            raise self._bad("HASH_MISMATCH", expected, found)
        self._work.origins[self._origin].renew()
        is_wires_fault = self._resumed == 0
        self._resumed = 0
        self._is_fallback = is_wires_fault and self._work.fallback is not None and self._work.fallback.can_hold(self._file)

    def _bad(self, code: str, expected: str, found: str) -> UpstreamBad:
        remedy = f"upstream is bad ({self._work.origins[self._origin].name}): take another revision or origin"
        problem = Problem.model_validate({"file": self._file.path, "code": code, "expected": expected, "found": found, "remedy": remedy})
        return UpstreamBad(str(problem), problem=problem)
