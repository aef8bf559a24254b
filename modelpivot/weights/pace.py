"""How much at once: the bytes a second of a whole transfer, and the number of files in flight, which follows what the other side bears."""

import threading
import time
from collections.abc import Callable

SAME_MOMENT_S = 1.0


class Pace:
    """At most `rate` bytes a second over all connections; None: as fast as it goes."""

    def __init__(self, rate: float | None) -> None:
        self._rate, self._free_at, self._lock = rate, 0.0, threading.Lock()

    def chunk_bytes(self, most: int) -> int:
        """How much to move between two calls of `wait`: `most`, or a fiftieth of a second's share."""
        return most if self._rate is None else max(4 << 10, min(most, int(self._rate / 50)))

    def wait(self, count: int) -> None:
        """Return when `count` more bytes may go."""
        if self._rate is None:
            return
        with self._lock:
            start = max(self._free_at, time.monotonic())
            self._free_at = start + count / self._rate
        time.sleep(max(0.0, start - time.monotonic()))


class Slots:
    """How many files may be in flight. Halved when the other side is overloaded, raised by one while that brings more bytes a second."""

    def __init__(self, start: int, most: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self._most, self.used = max(1, min(start, most)), most, 0
        self._changed, self._clock, self._halved_at = threading.Condition(), clock, float("-inf")
        self._rate_before, self._quiet_until = 0.0, 0.0

    def acquire(self, stop: threading.Event) -> bool:
        """Wait for a free slot. False: told to stop."""
        with self._changed:
            while self.used >= self.limit and not stop.is_set():
                self._changed.wait(0.5)
            if stop.is_set():
                return False
            self.used += 1
            return True

    def release(self) -> None:
        """Give the slot back."""
        with self._changed:
            self.used -= 1
            self._changed.notify_all()

    def back_off(self, *, quiet_s: float = 30) -> None:
        """Half as many, and none more for `quiet_s`. Several answers of one moment halve once."""
        with self._changed:
            now = self._clock()
            if now - self._halved_at >= SAME_MOMENT_S:
                self.limit, self._halved_at = max(1, self.limit // 2), now
            self._rate_before, self._quiet_until = 0.0, now + quiet_s

    def tune(self, rate: float) -> None:
        """Called every few seconds with the rate now: one more while the last one brought 10 % or more, else one back and a rest."""
        with self._changed:
            if self._clock() < self._quiet_until or self.used < self.limit:
                return
            if rate > self._rate_before * 1.1 and self.limit < self._most:
                self.limit, self._rate_before = self.limit + 1, rate
            elif self._rate_before and rate < self._rate_before * 1.1:
                self.limit, self._rate_before = max(1, self.limit - 1), 0.0
                self._quiet_until = self._clock() + 60
            self._changed.notify_all()
