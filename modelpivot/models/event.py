"""What a run tells. Stages get a `Tell`; journal, screen and Prefect read the same events."""

from typing import Literal, Protocol

from pydantic import Field, JsonValue

from modelpivot.models.frozen import Frozen

Kind = Literal["started", "progress", "log", "warning", "finished", "failed", "nothing_to_do"]


class Event(Frozen):
    """One thing told. `at` is seconds since the epoch."""

    at: float
    stage: str
    """preflight, plan, install, download, patch config, check shards, serve, probe, benchmark, promote, or a step of the switch."""
    kind: Kind
    message: str = ""
    data: dict[str, JsonValue] = Field(default_factory=dict)
    """progress: done, total (numbers) and unit; finished: seconds and a small result."""


class Tell(Protocol):
    """Called by a stage on its own thread only; the journal is written before anything else hears of it."""

    def __call__(self, kind: Kind, message: str = "", **data: JsonValue) -> None: ...
