"""Trying again, the lower of the two levels: reconnects within one fetch or one Hub question. One policy, one deadline, by kind of failure."""

import email.utils
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from modelpivot.errors import TransientError

T = TypeVar("T")
RATE_LIMIT = re.compile(r'"[^"]*"\s*;\s*r\s*=\s*(\d+)\s*;\s*t\s*=\s*(\d+)')


@dataclass(frozen=True)
class Patience:
    """How long trying again goes on, in seconds: `idle_s` without a new byte, `deadline_s` in all; waits double from `first_s` to `longest_s`."""

    idle_s: float = 900
    deadline_s: float = 48 * 3600
    first_s: float = 0.5
    longest_s: float = 60
    wrong_answers: int = 3
    """Answers that cannot be right, in a row, before they count as upstream's fault."""


@dataclass
class Tries:
    """What happened so far to one file or question; `progressed` starts the count again."""

    patience: Patience
    ends_at: float
    """Of the whole, on the monotonic clock."""
    stop: threading.Event = field(default_factory=threading.Event)
    failures: int = 0
    progressed_at: float = field(default_factory=time.monotonic)
    total_failures: int = 0

    def progressed(self) -> None:
        """New bytes came."""
        self.failures, self.progressed_at = 0, time.monotonic()

    def wait_s(self, state: RetryCallState) -> float:
        """Seconds until the next try: doubling with jitter, and never less than the other side asked for."""
        self.failures += 1
        self.total_failures += 1
        error = state.outcome.exception() if state.outcome else None
        backoff = min(self.patience.longest_s, self.patience.first_s * 2 ** min(self.failures - 1, 20))
        asked = getattr(error, "retry_after_s", None) or 0.0
        return float(max(backoff * random.uniform(0.5, 1.0), asked * random.uniform(1.0, 1.1)))

    def is_over(self, state: RetryCallState) -> bool:
        """Whether to give up: told to stop, out of time, or the next try would come after the deadline."""
        now = time.monotonic()
        return self.stop.is_set() or now + state.upcoming_sleep > self.ends_at or now - self.progressed_at > self.patience.idle_s

    def run(self, attempt: Callable[[], T], *, on_failure: Callable[[TransientError], None] | None = None) -> T:
        """Call until it returns; only TransientError is tried again, and the last one is raised."""

        def before_sleep(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if on_failure and isinstance(error, TransientError):
                on_failure(error)

        policy = Retrying(
            retry=retry_if_exception_type(TransientError),
            wait=self.wait_s,
            stop=self.is_over,
            sleep=self._sleep,
            before_sleep=before_sleep,
            reraise=True,
        )
        return policy(attempt)

    def _sleep(self, seconds: float) -> None:
        self.stop.wait(seconds)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the other side asks us to wait: `Retry-After` (seconds or a date), else the reset of a `RateLimit` that is used up."""
    value = headers.get("Retry-After", "").strip()
    if value.isdigit():
        return float(value)
    if value and (date := _parse_date(value)) is not None:
        return max(0.0, date - time.time())
    match = RATE_LIMIT.search(headers.get("RateLimit", ""))
    return float(match[2]) if match and int(match[1]) == 0 else None


def _parse_date(value: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp()
    except ValueError:
        return None
