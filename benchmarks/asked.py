"""A client that also keeps how long every answer took: what those who are served notice of what goes on beside them."""

import math
import time
from collections.abc import Iterable

from modelpivot.benchmark.client import Client

Answer = tuple[float, float]
"""When it was asked for (seconds since the epoch) and how long it took."""


class TimedClient(Client):
    """The client of a switch, and its answers one by one."""

    answers: list[Answer]

    def start(self) -> "TimedClient":
        """Begin to ask."""
        self.answers = []
        super().start()
        return self

    def _is_answered(self) -> bool:
        began, clock = time.time(), time.monotonic()
        is_good = super()._is_answered()
        if is_good:
            self.answers.append((began, time.monotonic() - clock))
        return is_good


def took_between(answers: Iterable[Answer], since: float, until: float) -> list[float]:
    """Seconds of the answers that were asked for in a span of time."""
    return [seconds for began, seconds in answers if since <= began < until]


def percentile(values: list[float], share: float) -> float:
    """The value that this share of all does not exceed; nan without any."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else math.nan
