"""A Tell that keeps what it is told, and on which thread."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from modelpivot.models.event import Event, Kind


@dataclass
class Told:
    """Every event with its thread."""

    events: list[Event] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def __call__(self, kind: Kind, message: str = "", **data: JsonValue) -> None:
        self.events.append(Event(at=0, stage="download", kind=kind, message=message, data=data))
        self.threads.add(threading.get_ident())

    def of(self, kind: Kind) -> list[Event]:
        """Events of one kind."""
        return [event for event in self.events if event.kind == kind]

    @property
    def warnings(self) -> str:
        """All warnings in one text."""
        return "\n".join(event.message for event in self.of("warning"))


def size_of(path: Path) -> int:
    """Its bytes; 0 when it is not there, or not there any more: a partial file gets its last name at any moment."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
