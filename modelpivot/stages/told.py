"""A stage told from start to end: one `started`, and one `finished`, `nothing_to_do` or `failed` with its seconds. Used by every short stage."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import JsonValue

from modelpivot.errors import PivotError
from modelpivot.models.event import Kind
from modelpivot.state.runs import Journal


@dataclass
class Ending:
    """What is told at the end; the stage fills it in as it goes."""

    kind: Kind = "finished"
    message: str = ""
    data: dict[str, JsonValue] = field(default_factory=dict)

    def finish(self, message: str, **data: JsonValue) -> None:
        """The stage did its work."""
        self.kind, self.message, self.data = "finished", message, data

    def nothing_to_do(self, message: str, **data: JsonValue) -> None:
        """The stage found everything done."""
        self.kind, self.message, self.data = "nothing_to_do", message, data


@contextmanager
def told(journal: Journal, stage: str, message: str = "") -> Iterator[tuple[Journal, Ending]]:
    """Tell the stage around its work; an error is told as `failed`, with what the ending already holds, and goes on."""
    tell, ending, started = journal.stage(stage), Ending(), time.monotonic()
    tell("started", message)
    try:
        yield tell, ending
    except PivotError as error:
        tell("failed", error.message, **ending.data, seconds=time.monotonic() - started)
        raise
    tell(ending.kind, ending.message, **ending.data, seconds=time.monotonic() - started)
