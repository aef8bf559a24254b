"""Received bytes gathered in one buffer that stays in the processor's cache, and handed on in pieces worth a system call.

A TLS connection gives 16 KiB at a time, a fast plain one hundreds; small pieces cost more in Python than in the hash.
"""

import time
from collections.abc import Callable
from types import TracebackType

from modelpivot.weights.body import Body

BUFFER_BYTES = 1 << 20
ENOUGH_BYTES = 512 << 10
LONGEST_S = 0.2
"""What has arrived waits no longer than this for more."""


class Gather:
    """A context manager: however the block ends, what has arrived is handed on. `to_come` counts down as bytes arrive."""

    def __init__(self, body: Body, *, to_skip: int, to_come: int, take: Callable[[memoryview], None]) -> None:
        self._body, self._to_skip, self.to_come, self._take = body, to_skip, to_come, take
        self.size = min(BUFFER_BYTES, to_skip + to_come)
        self._buffer, self._filled, self._taken_at = memoryview(bytearray(self.size)), 0, time.monotonic()

    @property
    def is_wanting(self) -> bool:
        """Whether bytes are still to come."""
        return self.to_come > 0

    def receive(self, most: int) -> int:
        """Take what comes, at most so many bytes; how many came, 0 at the body's end."""
        if self._to_skip:
            return self._skip(most)
        count = self._body.readinto(self._buffer[self._filled : self._filled + min(most, self.to_come)])
        self._filled += count
        self.to_come -= count
        now = time.monotonic()
        if self._filled >= min(ENOUGH_BYTES, self.size) or not self.to_come or now - self._taken_at > LONGEST_S:
            self._hand_on()
            self._taken_at = now
        return count

    def _skip(self, most: int) -> int:
        count = self._body.readinto(self._buffer[: min(most, self._to_skip)])
        self._to_skip -= count
        return count

    def _hand_on(self) -> None:
        filled, self._filled = self._filled, 0
        if filled:
            self._take(self._buffer[:filled])

    def __enter__(self) -> "Gather":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._hand_on()
