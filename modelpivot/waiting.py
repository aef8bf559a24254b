"""The one waiting loop: one fact read again, a pure judge of what was read so far, one deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

from modelpivot.errors import PivotError

T = TypeVar("T")
R = TypeVar("R")


class WaitedTooLong(PivotError):
    """The deadline passed; `last` is what was read last."""

    def __init__(self, message: str, *, last: object = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.last = last


def wait_for(
    read: Callable[[], T],
    judge: Callable[[T, float], R | None],
    *,
    what: str,
    deadline_s: float,
    interval_s: float = 0.2,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> R:
    """Read until the judge answers something else than None, and return that.

    `judge(fact, waited_s)` may raise to end the wait early, and is asked once more at the deadline. WaitedTooLong after `deadline_s` seconds.
    """
    started = clock()
    while True:
        fact = read()
        waited_s = clock() - started
        if (answer := judge(fact, waited_s)) is not None:
            return answer
        if waited_s >= deadline_s:
            raise WaitedTooLong(f"{what}: not after {waited_s:.1f} s (deadline {deadline_s:g} s); last seen: {fact}", last=fact)
        pause(min(interval_s, max(0.0, deadline_s - waited_s)))
