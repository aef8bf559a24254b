"""The switch on paper: its intent, its phase, the decision it waits for, how it ended (`cutover.json`)."""

from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import Deadlines

Phase = Literal[
    "intended", "warming", "draining", "stopping", "freeing", "starting", "readying", "probing", "unconfirmed", "returning", "closed"
]
UNTOUCHED: tuple[Phase, ...] = ("intended", "warming")
"""Phases in which nothing that serves was touched yet."""
Outcome = Literal["promoted", "returned", "nothing_serves", "not_started"]


class ProcessId(Frozen):
    """A process, told from a later one with the same number."""

    pid: int
    start_time: int
    """Field 22 of /proc/<pid>/stat, clock ticks since boot."""
    boot_id: str


class Lost(Frozen):
    """What a client that asks all the time noticed of a switch."""

    asked: int = 0
    lost_requests: int = 0
    downtime_s: float = 0.0
    """From the last good answer before to the first good one after; 0: nothing lost."""
    last_good_at: float | None = None
    """Seconds since the epoch; None: nobody ever answered this client."""


class StepTime(Frozen):
    """One step of the switch with its time."""

    name: str
    seconds: float
    result: Literal["done", "failed"]
    release: str


class Trial(Frozen):
    """That a switch only tries: it brings up one release after another, as it is asked to, promotes none and always goes back."""

    turn_at: float
    """Seconds since the epoch: whatever goes on then, the way back begins."""
    back_by: float
    """The same: what served before is to answer again by then, if it starts as it did before."""
    starts: int = 0
    """Releases that it has brought up so far."""


class Cutover(Frozen):
    """The intent of a switch and its state. Written and synced before the first stop; the switch alone rewrites it."""

    id: str
    run_id: str
    from_release: str | None
    to_release: str
    deadlines: Deadlines
    unconfirmed: Literal["return", "keep"] = "return"
    confirm: Literal["asked", "automatic"] = "asked"
    """automatic: promote as soon as probed (rollback, the first release of a host)."""
    trial: Trial | None = None
    """None: what comes up may be promoted."""
    lock_token: str
    """Who shows it may take over the host's lock."""
    created_at: float
    phase: Phase = "intended"
    phase_since: float = 0.0
    switch: ProcessId | None = None
    """The process that carries it out."""
    confirm_by: float | None = None
    """Seconds since the epoch; set when it becomes unconfirmed."""
    steps: list[StepTime] = Field(default_factory=list)
    lost: Lost = Lost()
    outcome: Outcome | None = None
    reason: str = ""
    """Why it went back, or what stands on the host and what to do."""
    failed_step: str = ""
    """The step that sent it back; empty: somebody or the time did."""
    cause: list[str] = Field(default_factory=list)
    """The engine's own lines for the cause."""

    @property
    def is_beside(self) -> bool:
        """A trial for which nothing was stopped: what serves is no part of this switch."""
        return self.trial is not None and self.from_release is None

    @property
    def stays_unconfirmed(self) -> bool:
        """In silence the new release is kept: its recipe says so, or nothing served before and the host would be left without a model."""
        return self.trial is None and (self.unconfirmed == "keep" or self.from_release is None)


class Decision(Frozen):
    """What the run, or a person, asks of an open switch (`decision.json`)."""

    cutover_id: str
    decision: Literal["promote", "return", "try"]
    """try: a trial stops what it has up and brings `release` up."""
    release: str | None = None
    reason: str
    at: float


class Recovered(Frozen):
    """What a recovery by hand came to, or a rollback that needed no switch."""

    outcome: Outcome | Literal["nothing_open", "started"]
    """Of the switch that it finished or needed. Without one: started, what was stopped by name runs again; nothing_open, `message` says what is."""
    message: str
    cutover: Cutover | None = None
