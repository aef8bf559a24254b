"""When a maintenance window is open. Pure; hours are those of the window's own clocks, also on the nights on which these are changed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from modelpivot.models.plan import Blocker
from modelpivot.models.window import DAYS, Opening, Window, parse_window

SLOWER = 1.5
"""Times as long as the last start that the way back may take."""

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


class Times(NamedTuple):
    """Of a trial, seconds since the epoch."""

    turn_at: float
    back_by: float


def plan_times(opening: Opening, at: float, *, start_s: float, stop_s: float) -> Times | None:
    """The way back begins early enough: half as long again as what serves took to start, once the other is stopped. None: before that there is
    no time left even for a start as long as that."""
    turn_at = opening.ends - start_s * SLOWER - stop_s
    return Times(turn_at, opening.ends) if turn_at - at >= start_s else None


def window_blocker(words: str | None, at: float, opening: Opening | None, start_s: float) -> Blocker:
    """Why nothing is stopped now."""
    what = "the window of this host"
    if words is None:
        remedy = "set MODELPIVOT_WINDOW, such as `Sun-Thu 01:00-05:00 Europe/Berlin`, or test beside what serves (--capacity spare)"
        return Blocker(code="NO_WINDOW", what=what, expected="hours in which it may be without its service", found="none", remedy=remedy)
    window = parse_window(words)
    if opening is None:
        following = next_opening(window, at)
        remedy = f"it opens {_say(window, following.begins)}" if following else "it never opens"
        return Blocker(code="OUTSIDE_WINDOW", what=what, expected=words, found=f"now is {_say(window, at)}", remedy=remedy)
    left = f"{(opening.ends - at) / 60:.0f} min left until {_say(window, opening.ends)}"
    expected = f"time for a start, its measurement and the way back, with starts of {start_s / 60:.0f} min"
    return Blocker(code="WINDOW_TOO_SHORT", what=what, expected=expected, found=left, remedy="start earlier, or widen the window")


def _say(window: Window, at: float) -> str:
    return datetime.fromtimestamp(at, window.timezone).strftime(f"%a %d %b %H:%M {window.zone}")
