"""What is known of an engine while it starts: how far its log is, how far it answers, what else it needs to be called free."""

from typing import Literal

from pydantic import Field

from modelpivot.models.facts import Gpus, Listener
from modelpivot.models.frozen import Frozen, Unread

Rung = Literal["process", "port", "health", "models", "generation"]


class StartPhase(Frozen):
    """How far an engine's own log says it is."""

    word: str = "starting"
    """waiting (for what comes before its engine), starting, configuring, engine, weights, memory, compile, graphs, listening, up."""
    done: int | None = None
    """Of `total`, in phases that count (shards, graphs)."""
    total: int | None = None
    progress_lines: int = 0
    """Different lines so far; a line that only says it waits does not count."""
    cause: list[str] = Field(default_factory=list)
    """The engine's own words for why it failed, the root first; empty: nothing failed."""

    def __str__(self) -> str:
        return f"{self.word} {self.done} of {self.total}" if self.total else self.word


class Readiness(Frozen):
    """The ladder: the first rung that does not hold, with what was found there; None: every rung holds."""

    missing: Rung | None
    found: str = ""

    @property
    def is_ready(self) -> bool:
        """True: it generated an answer."""
        return self.missing is None

    def __str__(self) -> str:
        return "ready" if self.missing is None else f"{self.missing}: {self.found}"


class StartFact(Frozen):
    """One look at an engine that starts."""

    is_alive: bool
    phase: StartPhase
    ready: Readiness
    quiet_s: float
    """Seconds since the last progress of log or memory."""

    def __str__(self) -> str:
        return f"phase {self.phase}, {self.ready}, last progress {self.quiet_s:.0f} s ago"


class FreeFact(Frozen):
    """One look at what a stopped engine may have left."""

    port: int
    leftovers: list[int] = Field(default_factory=list)
    """Processes proved to be of the stopped unit."""
    holders: list[Listener] | Unread = Field(default_factory=list)
    """Who listens on the port, the coming unit's own processes left out."""
    gpus: Gpus | Unread = Gpus()
    """Empty when no GPU is needed."""

    def __str__(self) -> str:
        held = self.holders if isinstance(self.holders, Unread) else [holder.pid for holder in self.holders]
        return f"processes {self.leftovers}, listeners on port {self.port}: {held}"
