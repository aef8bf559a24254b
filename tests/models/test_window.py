"""A maintenance window from its words, and when it is open: by its own clocks, over midnight, over the night on which these are changed."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from modelpivot.models.host import HostConfig
from modelpivot.models.window import parse_window
from modelpivot.plans.window import find_opening, next_opening

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> float:
    """Seconds since the epoch of a moment in Berlin."""
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("text", "days", "zone"),
    [
        ("01:00-05:00", 7, "UTC"),
        ("Sun-Thu 01:00-05:00 Europe/Berlin", 5, "Europe/Berlin"),
        ("Sat,Sun 22:00-04:00", 2, "UTC"),
        ("Fri-Mon,Wed 00:00-00:00 Asia/Tokyo", 5, "Asia/Tokyo"),
    ],
)
def test_a_window_is_read_from_its_words(text: str, days: int, zone: str) -> None:
    """Days alone and in ranges, also over the week's end; without days every day, without a zone UTC."""
    window = parse_window(text)
    assert (len(window.days), window.zone) == (days, zone)


@pytest.mark.parametrize("text", ["", "1-5", "01:00-25:00", "Sonntag 01:00-05:00", "01:00-05:00 Mars/Olympus", "Mon- 01:00-02:00"])
def test_what_is_no_window_is_refused_with_the_field(text: str) -> None:
    """In the host configuration, before anything runs."""
    with pytest.raises(ValidationError) as caught:
        HostConfig(window=text)
    assert "window" in str(caught.value) and "expected" in str(caught.value)


@pytest.mark.parametrize(
    ("moment", "ends"),
    [
        ("2026-11-30T00:59:59", None),
        ("2026-11-30T01:00:00", "2026-11-30T05:00:00"),
        ("2026-11-30T04:59:59", "2026-11-30T05:00:00"),
        ("2026-11-30T05:00:00", None),
        ("2026-12-04T02:00:00", None),
    ],
)
def test_it_is_open_from_its_begin_to_before_its_end(moment: str, ends: str | None) -> None:
    """On its days (30 November 2026 is a Monday, 4 December a Friday), by the clocks of Berlin."""
    opening = find_opening(parse_window("Sun-Thu 01:00-05:00 Europe/Berlin"), at(moment))
    assert (opening.ends if opening else None) == (at(ends) if ends else None)


def test_over_midnight_it_belongs_to_the_day_on_which_it_begins() -> None:
    """Saturday 22:00 to 04:00: open on Sunday at 03:00, shut on Monday at 03:00."""
    window = parse_window("Sat 22:00-04:00 Europe/Berlin")
    assert find_opening(window, at("2026-12-06T03:00:00"))
    assert find_opening(window, at("2026-12-07T03:00:00")) is None


def test_the_night_that_has_an_hour_more_has_it_here_too() -> None:
    """25 October 2026: clocks go from 03:00 back to 02:00, so 01:00 to 05:00 are five hours."""
    opening = find_opening(parse_window("01:00-05:00 Europe/Berlin"), at("2026-10-25T01:30:00"))
    assert opening is not None
    assert opening.ends - opening.begins == 5 * 3600


def test_the_next_opening_is_named_while_it_is_shut() -> None:
    """On Friday noon the next one of a weekly window is days away."""
    opening = next_opening(parse_window("Thu 01:00-05:00 Europe/Berlin"), at("2026-12-04T12:00:00"))
    assert opening is not None
    assert opening.begins == at("2026-12-10T01:00:00")
