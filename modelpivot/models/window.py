"""A maintenance window on paper: the hours in which a host may be without its service. `Sun-Thu 01:00-05:00 Europe/Berlin`."""

import re
from datetime import time
from typing import Literal
from zoneinfo import ZoneInfo, available_timezones

from modelpivot.models.frozen import Frozen

Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
DAYS: tuple[Day, ...] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
FORM = re.compile(r"(?:(?P<days>[A-Za-z,-]+) )?(?P<begin>\d\d:\d\d)-(?P<end>\d\d:\d\d)(?: (?P<zone>\S+))?")
EXPECTED = "expected `[days] HH:MM-HH:MM [timezone]`, such as `Sun-Thu 01:00-05:00 Europe/Berlin`"


class Window(Frozen):
    """Every week on `days`, from `begin` to `end` by the clocks of `zone`; an end that is not later than its begin is on the next day."""

    days: tuple[Day, ...] = DAYS
    """Days on which it begins."""
    begin: time
    end: time
    zone: str = "UTC"

    @property
    def timezone(self) -> ZoneInfo:
        """Where its clocks hang."""
        return ZoneInfo(self.zone)


class Opening(Frozen):
    """One opening of a window, seconds since the epoch."""

    begins: float
    ends: float


def parse_window(text: str) -> Window:
    """A window from its words; ValueError says what is expected."""
    found = FORM.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{EXPECTED}, found {text!r}")
    zone = found["zone"] or "UTC"
    if zone not in available_timezones():
        raise ValueError(f"expected a timezone such as Europe/Berlin or UTC, found {zone!r}")
    return Window(days=_parse_days(found["days"]), begin=_parse_time(found["begin"]), end=_parse_time(found["end"]), zone=zone)


def _parse_time(text: str) -> time:
    try:
        return time.fromisoformat(text)
    except ValueError:
        raise ValueError(f"expected an hour from 00:00 to 23:59, found {text!r}") from None


def _parse_days(text: str | None) -> tuple[Day, ...]:
    if not text:
        return DAYS
    wanted = {day for part in text.split(",") for day in _parse_range(part)}
    return tuple(day for day in DAYS if day in wanted)


def _parse_range(text: str) -> list[Day]:
    """`Mon`, or `Fri-Mon`, which goes over the week's end."""
    first, dash, last = text.partition("-")
    names = [DAYS.index(name) for word in (first, last if dash else first) if (name := next((day for day in DAYS if day == word), None))]
    if len(names) != 2:
        raise ValueError(f"expected days of {', '.join(DAYS)}, found {text!r}")
    return [DAYS[(names[0] + step) % 7] for step in range((names[1] - names[0]) % 7 + 1)]
