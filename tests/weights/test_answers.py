"""What an answer means, for any status and any header."""

import email.utils
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from modelpivot.errors import PreconditionError, TransientError
from modelpivot.mirror.sending import parse_range
from modelpivot.models.manifest import ManifestFile
from modelpivot.weights.answers import Overloaded, Refused, WrongAnswer, body_start, error_for_status, refusal_problem
from modelpivot.weights.content import looks_like, read_pointer
from modelpivot.weights.pace import Pace, Slots
from modelpivot.weights.reconnect import parse_retry_after

FILE = ManifestFile(path="model.safetensors", size=1000, sha256="0" * 64)
numbers = st.integers(0, 1100)


@given(asked=st.integers(0, 999), first=numbers, last=numbers, total=numbers)
def test_only_the_very_range_that_was_asked_for_is_taken(asked: int, first: int, last: int, total: int) -> None:
    """206 gives the asked offset for the one right Content-Range, and WrongAnswer for every other (D12)."""
    headers = {"Content-Range": f"bytes {first}-{last}/{total}"}
    if (first, last, total) == (asked, 999, 1000):
        assert body_start(206, headers, FILE, asked) == asked
    else:
        with pytest.raises(WrongAnswer):
            body_start(206, headers, FILE, asked)


@given(st.text(max_size=30), st.integers(0, 999))
def test_any_other_text_in_content_range_is_wrong(value: str, asked: int) -> None:
    """Nothing that is no range is taken for one."""
    assume(not value.startswith("bytes"))
    with pytest.raises(WrongAnswer):
        body_start(206, {"Content-Range": value}, FILE, asked)


@given(length=st.integers(0, 2000), asked=st.integers(0, 999))
def test_whole_body_starts_at_zero_and_has_the_whole_length(length: int, asked: int) -> None:
    """200 is the file from its start, or nothing that we want."""
    if length == FILE.size:
        assert body_start(200, {"Content-Length": str(length)}, FILE, asked) == 0
    else:
        with pytest.raises(WrongAnswer):
            body_start(200, {"Content-Length": str(length)}, FILE, asked)


@given(start=st.integers(0, 50), stop=st.integers(0, 60), size=st.integers(1, 40))
def test_mirror_answers_ranges_as_http_has_it(start: int, stop: int, size: int) -> None:
    """`bytes=a-b` is clipped to the file, and cannot be satisfied behind its end or backwards."""
    part = parse_range(f"bytes={start}-{stop}", size)
    if start >= size or stop < start:
        assert part is None
    else:
        assert part is not None and (part.start, part.stop) == (start, min(stop + 1, size))


@given(status=st.integers(400, 599), from_store=st.booleans())
def test_every_status_is_passing_or_refused(status: int, from_store: bool) -> None:
    """5xx, 408, 425 and 429 pass; 401, 403, 404 and 410 of the Hub do not, and those of a signed link do (D7, D8)."""
    error = error_for_status(status, {}, what="x", from_store=from_store)
    if status in (401, 403, 404, 410) and not from_store:
        assert isinstance(error, Refused) and isinstance(error, PreconditionError)
    else:
        assert isinstance(error, TransientError)
    assert isinstance(error, Overloaded) == (status in (429, 503))


@pytest.mark.parametrize(
    ("status", "headers", "problem"),
    [
        (403, {"X-Error-Code": "GatedRepo"}, "gated"),
        (401, {"X-Error-Code": "GatedRepo"}, "gated"),
        (401, {"X-Error-Message": "Invalid credentials in Authorization header"}, "unauthorized"),
        (401, {"X-Error-Code": "RepoNotFound"}, "not_found"),
        (404, {"X-Error-Code": "RepoNotFound"}, "not_found"),
        (404, {"X-Error-Code": "EntryNotFound"}, "not_found"),
        (404, {"X-Error-Code": "RevisionNotFound"}, "revision_gone"),
        (429, {}, ""),
        (500, {}, ""),
    ],
)
def test_refusals_by_status_and_code(status: int, headers: dict[str, str], problem: str) -> None:
    """Each has one word, from which its remedy follows (D8)."""
    assert refusal_problem(status, headers) == problem


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "120"}, 120),
        ({"RateLimit": '"resolvers";r=0;t=55'}, 55),
        ({"RateLimit": '"api"; r = 0 ; t = 7'}, 7),
        ({"RateLimit": '"api";r=5;t=55'}, None),
        ({"RateLimit": "nonsense"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "3", "RateLimit": '"api";r=0;t=55'}, 3),
        ({}, None),
    ],
)
def test_seconds_that_the_other_side_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    """Retry-After, else the reset of a RateLimit that is used up (D7)."""
    assert parse_retry_after(headers) == seconds


def test_date_in_retry_after_is_seconds_from_now() -> None:
    """A date is as good as seconds; one of the past is none to wait for."""
    seconds = parse_retry_after({"Retry-After": email.utils.formatdate(time.time() + 100, usegmt=True)})
    assert seconds is not None and 95 < seconds <= 101
    assert parse_retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0


@given(st.binary(max_size=600))
def test_only_a_pointer_is_a_pointer(first: bytes) -> None:
    """Random bytes are no pointer and no page unless they begin like one."""
    assert read_pointer(first) is None and looks_like(first) != "LFS_POINTER"
    assert (looks_like(first) == "EMPTY") == (first == b"")


def test_pace_keeps_the_rate_over_all_who_share_it() -> None:
    """1,000 bytes at 10 kB a second take 0.1 s, however they are cut."""
    pace, started = Pace(10_000), time.monotonic()
    for _ in range(11):
        pace.wait(100)
    assert 0.09 < time.monotonic() - started < 10.0


def test_slots_rise_while_that_helps_and_fall_back_when_not() -> None:
    """One more file in flight while the rate grows by 10 %; the first step that brings nothing is taken back."""
    import threading

    slots, stop = Slots(2, 8), threading.Event()
    limits = []
    for rate in (100.0, 150.0, 220.0, 221.0, 500.0):
        while slots.limit > slots.used:
            assert slots.acquire(stop)
        slots.tune(rate)
        limits.append(slots.limit)
    assert limits == [3, 4, 5, 4, 4]


def test_overload_halves_the_files_in_flight_once_a_moment() -> None:
    """Eight answers 429 of one moment halve once, those of later moments again, down to one (D7)."""
    now = [100.0]
    slots, limits = Slots(8, 8, clock=lambda: now[0]), []
    for step in (0.0, 0.1, 0.1, 2.0, 2.0, 2.0):
        now[0] += step
        slots.back_off()
        limits.append(slots.limit)
    assert limits == [4, 4, 4, 2, 1, 1]
