"""The eye on a running fetch, on the caller's thread: tells the progress, cuts connections that give nothing, follows the rate."""

import time
from typing import TYPE_CHECKING

from pydantic import JsonValue

from modelpivot.models.event import Tell

if TYPE_CHECKING:
    from modelpivot.weights.fetch import Fetch
    from modelpivot.weights.job import Progress

TELL_EVERY_S = 0.25
TUNE_EVERY_S = 3.0
LEAST_BYTES = 4 << 10
"""A connection that brought less than this in a whole stall time counts as frozen."""
RATE_OVER_S = 5.0


class Watch:
    """Looks every `interval_s`; told on the thread that calls `look`."""

    interval_s = 0.1

    def __init__(self, fetch: "Fetch", tell: Tell, *, stall_s: float) -> None:
        self._fetch, self._tell, self._stall_s = fetch, tell, stall_s
        now = time.monotonic()
        self._told_at, self._watched_at, self._tuned_at, self._tuned_bytes = 0.0, 0.0, now, 0
        self._history: list[tuple[float, int]] = [(now, 0)]
        self._seen: dict[int, tuple[object, int, float]] = {}

    def look(self, *, is_last: bool = False) -> None:
        """Once around: warnings, progress, frozen connections, number of files in flight."""
        now = time.monotonic()
        while not self._fetch.notes.empty():
            self._tell("warning", self._fetch.notes.get())
        if is_last or now - self._told_at >= TELL_EVERY_S:
            self._tell_progress(now)
        if now - self._watched_at >= self.interval_s:
            self._watched_at = now
            for number, each in enumerate(self._fetch.progress):
                self._watch_body(number, each, now)
        if now - self._tuned_at >= TUNE_EVERY_S:
            fetched = self._fetch.fetched_bytes
            self._fetch.work.slots.tune((fetched - self._tuned_bytes) / (now - self._tuned_at))
            self._tuned_at, self._tuned_bytes = now, fetched

    def abort_all(self) -> None:
        """Cut every connection, so that nothing waits for bytes any longer."""
        for each in self._fetch.progress:
            if (body := each.body) is not None:
                body.abort()

    def _tell_progress(self, now: float) -> None:
        done, rate = self._fetch.done_bytes, self._rate(now)
        left = self._fetch.total_bytes - done
        data: dict[str, JsonValue] = {
            "done": done,
            "total": self._fetch.total_bytes,
            "unit": "B",
            "rate": round(rate),
            "eta_s": round(left / rate, 1) if rate > 0 else None,
            "files": {each.file.path: [each.done, each.file.size] for each in self._fetch.progress if each.body is not None},
        }
        self._tell("progress", "", **data)
        self._told_at = now

    def _rate(self, now: float) -> float:
        """Bytes a second over the wire, of the last few seconds."""
        self._history.append((now, self._fetch.fetched_bytes))
        while len(self._history) > 2 and now - self._history[0][0] > RATE_OVER_S:
            self._history.pop(0)
        (since, before), (_, after) = self._history[0], self._history[-1]
        return (after - before) / max(1e-3, now - since)

    def _watch_body(self, number: int, progress: "Progress", now: float) -> None:
        """Cut a connection that brought next to nothing for a whole stall time; never one that is not receiving."""
        body = progress.body
        if body is None:
            self._seen.pop(number, None)
            return
        seen = self._seen.get(number)
        if progress.state != "receiving" or seen is None or seen[0] is not body or progress.fetched - seen[1] >= LEAST_BYTES:
            self._seen[number] = (body, progress.fetched, now)
        elif now - seen[2] >= self._stall_s:
            self._fetch.notes.put(
                f"{progress.file.path}: no bytes for {self._stall_s:g} s at {progress.done} of {progress.file.size}, connection cut"
            )
            self._seen.pop(number)
            body.abort()
