"""A client that asks all the time and counts what it loses. Runs on a thread of its own, through a switch."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from modelpivot.facts.endpoint import read_generates
from modelpivot.models.cutover import Lost
from modelpivot.models.release import Endpoint
from modelpivot.state.asked import ask_counted
from modelpivot.state.paths import StatePaths

EVERY_S = 0.25
TIMEOUT_S = 10.0


class Client:
    """One short generation after another, asked of the first endpoint and, when that has none, of the next.

    A request is lost when nobody answers it *after* somebody answered once: before that the service was not up, and nothing could be lost.
    Downtime is from the last good answer to the first good one after a loss, added up; a gap still open counts until now.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        every_s: float = EVERY_S,
        earlier: Lost | None = None,
        is_down: bool = False,
        state: StatePaths | None = None,
    ) -> None:
        """`earlier` and `is_down` go on where another client ended: what it counted, and whether its last gap is still open.

        What it asks is counted in the host's state, where one is given, so that a benchmark does not take it for a stranger.
        """
        self._endpoints, self._every_s, self._earlier = list(dict.fromkeys(endpoints)), every_s, earlier or Lost()
        self._state = state
        self._asked = self._lost = 0
        self._closed_gaps_s = 0.0
        self._last_good_at: float | None = self._earlier.last_good_at
        self._is_in_gap = is_down and self._last_good_at is not None
        self._guard, self._is_stopped, self._is_asking = threading.Lock(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="client")

    def start(self) -> "Client":
        """Begin to ask."""
        self._is_asking.set()
        self._thread.start()
        return self

    def pause(self) -> None:
        """Ask no more until `resume`; the time between counts for nothing."""
        self._is_asking.clear()

    def resume(self) -> None:
        """Ask again; nothing to do when it asks."""
        with self._guard:
            if not self._is_asking.is_set() and not self._is_in_gap and self._last_good_at is not None:
                self._last_good_at = time.time()
        self._is_asking.set()

    def stop(self) -> Lost:
        """Ask no more; what was lost so far. A request under way is waited for."""
        self._is_stopped.set()
        self._is_asking.set()
        self._thread.join(TIMEOUT_S * len(self._endpoints) + 1)
        return self.result()

    @property
    def was_up(self) -> bool:
        """Whether anybody ever answered."""
        return self._last_good_at is not None

    @property
    def is_down(self) -> bool:
        """Whether the last request was lost."""
        return self._is_in_gap

    def result(self, *, has_open_gap: bool = True) -> Lost:
        """What was lost so far; a gap that is still open is left out for a client that goes on later (`earlier`)."""
        with self._guard:
            is_open = has_open_gap and self._is_in_gap and self._last_good_at is not None
            open_gap_s = time.time() - (self._last_good_at or 0.0) if is_open else 0.0
            return Lost(
                asked=self._earlier.asked + self._asked,
                lost_requests=self._earlier.lost_requests + self._lost,
                downtime_s=self._earlier.downtime_s + self._closed_gaps_s + open_gap_s,
                last_good_at=self._last_good_at,
            )

    def _run(self) -> None:
        while self._is_asking.wait() and not self._is_stopped.is_set():
            began = time.monotonic()
            self._count(is_good=self._is_answered())
            self._is_stopped.wait(max(0.0, self._every_s - (time.monotonic() - began)))

    def _is_answered(self) -> bool:
        return any(not self._ask(endpoint) for endpoint in self._endpoints)

    def _ask(self, endpoint: Endpoint) -> str:
        """Empty when it was answered; one that cannot even be asked was not."""
        count = self._state.asked(endpoint.port) if self._state else None
        try:
            key = _read_key(endpoint.api_key_file)
            return ask_counted(count, lambda: read_generates(endpoint, key=key, timeout_s=TIMEOUT_S))
        except Exception as error:  # noqa: BLE001 - whatever it is, the next one is asked
            return f"{type(error).__name__}: {error}"

    def _count(self, *, is_good: bool) -> None:
        now = time.time()
        with self._guard:
            self._asked += 1
            if is_good:
                if self._is_in_gap and self._last_good_at is not None:
                    self._closed_gaps_s += now - self._last_good_at
                self._last_good_at, self._is_in_gap = now, False
            elif self._last_good_at is not None:
                self._lost += 1
                self._is_in_gap = True


def _read_key(path: Path | None) -> str | None:
    try:
        return path.read_text().strip() if path else None
    except OSError:
        return None
