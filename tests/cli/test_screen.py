"""A download on the terminal: how far, how fast, how long still, and which files are under way."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from modelpivot.cli.output import console
from modelpivot.cli.screen import Screen
from modelpivot.models.event import Event, Kind

GB = 10**9
SHARD = "model-0000{}-of-00119.safetensors"
FILES = {SHARD.format(number): [number * GB, 4_540_000_000] for number in range(1, 8)}
LOADING: dict[str, Any] = {"done": 40 * GB, "total": 540 * GB, "unit": "B", "rate": 98e6, "eta_s": 723.2}


def told(kind: Kind, stage: str = "download", **data: Any) -> Event:
    """One event."""
    return Event(at=0, stage=stage, kind=kind, data=data)


@pytest.fixture
def shown() -> Iterator[Console]:
    """A terminal of 140 columns, whose text is kept."""
    made = console()
    made.file, made.width, made._force_terminal = io.StringIO(), 140, True
    yield made


def drawn(shown: Console, *events: Event) -> str:
    """What the live view shows after these events."""
    with Screen(shown) as screen:
        for event in events:
            screen(event)
        with shown.capture() as captured:
            shown.print(*screen._progress.get_renderables())
    return captured.get()


def test_a_download_says_what_is_left_and_its_files(shown: Console) -> None:
    """Time left, rate and bytes beside the bar; below it a line a file, a handful, and how many more there are."""
    said = drawn(shown, told("started"), told("progress", **LOADING, files=FILES))
    assert "12 min 03 s left, 98.0 MB/s, 40.0 GB (37.3 GiB) of 540.0 GB (502.9 GiB)" in said
    [third] = [line for line in said.splitlines() if SHARD.format(3) in line]
    assert "3.0 GB (2.8 GiB)  of 4.5 GB (4.2 GiB)" in third
    assert SHARD.format(5) in said and SHARD.format(6) not in said and "and 2 more" in said


def test_a_name_that_is_long_or_hostile_stays_one_line(shown: Console) -> None:
    """Cut at the edge; brackets are no markup and nothing commands the terminal."""
    said = drawn(shown, told("progress", **LOADING, files={"[red]\x1b[2J" + "x" * 300: [1, 2]}))
    assert "[red]xxx" in said and "\x1b[2J" not in said and max(len(line) for line in said.splitlines() if "xxx" in line) < 200


def test_files_go_with_their_stage(shown: Console) -> None:
    """Each showing has the files of its moment; another stage's progress leaves them, and the end of the download takes them away."""
    started = [told("started"), told("progress", **LOADING, files=FILES)]
    later = told("progress", **LOADING, files={SHARD.format(9): [0, GB]})
    install = told("progress", "install", done=1, total=2, unit="packages")
    said = drawn(shown, *started, later, install)
    assert SHARD.format(9) in said and SHARD.format(1) not in said
    assert SHARD.format(9) not in drawn(shown, *started, later, told("finished"))


def test_what_tells_no_files_has_none(shown: Console) -> None:
    """Other stages, and whatever is no table of files."""
    for files in ({}, None, ["x"], {"x": [1]}, {"x": ["1", "2"]}):
        assert "more" not in drawn(shown, told("progress", done=1, total=2, files=files))
