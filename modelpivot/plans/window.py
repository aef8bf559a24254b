"""When a maintenance window is open. Pure; hours are those of the window's own clocks, also on the nights on which these are changed."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from modelpivot.models.window import DAYS, Opening, Window

WEEK_DAYS = 8
"""Days to look ahead: a window that opens once a week opens within these."""


def find_opening(window: Window, at: float) -> Opening | None:
    """The opening that `at` lies in; None: it is shut."""
    return next((opening for opening in _openings(window, at) if opening.begins <= at < opening.ends), None)


def next_opening(window: Window, at: float) -> Opening | None:
    """The first opening that begins after `at`."""
    return next((opening for opening in _openings(window, at) if opening.begins > at), None)


def _openings(window: Window, at: float) -> Iterator[Opening]:
    """From that of the day before on, in their order."""
    today = datetime.fromtimestamp(at, window.timezone).date()
    for days in range(-1, WEEK_DAYS):
        day = today + timedelta(days=days)
        if DAYS[day.weekday()] in window.days:
            last = day + timedelta(days=1 if window.end <= window.begin else 0)
            begins, ends = (datetime.combine(*when, tzinfo=window.timezone) for when in ((day, window.begin), (last, window.end)))
            yield Opening(begins=begins.timestamp(), ends=ends.timestamp())
