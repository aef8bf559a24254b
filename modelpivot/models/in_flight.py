"""The files of a download that are under way, as its progress events tell them: `"files": {"model-00001.safetensors": [1000000000, 4540000000]}`."""

from typing import NamedTuple

from modelpivot.models.event import Event

SHOWN_FILES = 5
"""As many have a line; the others are counted."""


class InFlight(NamedTuple):
    """One file that bytes arrive of."""

    path: str
    done_bytes: int
    size_bytes: int


def read_in_flight(event: Event) -> tuple[list[InFlight], int]:
    """The first few, in the order in which the download tells them, and how many more there are; none where the event tells of none."""
    told = event.data.get("files")
    files = [InFlight(path, *sizes) for path, each in told.items() if (sizes := _sizes(each))] if isinstance(told, dict) else []
    return files[:SHOWN_FILES], max(0, len(files) - SHOWN_FILES)


def _sizes(told: object) -> tuple[int, int] | None:
    match told:
        case [int(done), int(size)]:
            return done, size
    return None
