"""Cuts inside a sandbox: wait for one moment of a switch, and send a signal to those who die at it. Called through the sandbox's worker.

A moment is a line of the run's journal, a fact on disk, or a time after the switch's first word. The journal is read every half millisecond.
"""

import contextlib
import dataclasses
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from modelpivot.models.event import Event
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import read_events

TREE = Path("/run/test-tree.json")
"""Numbers of the processes that play command, worker, server and flow."""
WANTS = Path("/etc/systemd/system/multi-user.target.wants")
LOOK_S = 0.0005
PATIENCE_S = 900.0

Victims = Literal["switch", "tree", "all"]


@dataclasses.dataclass(frozen=True)
class Moment:
    """When to cut. `role` tells the two releases of a switch apart: old, new, or neither."""

    kind: Literal["event", "file", "time"]
    name: str
    role: str = ""
    after_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.after_s:.2f} s after its first word" if self.kind == "time" else f"{self.name} {self.role}".strip()


@dataclasses.dataclass(frozen=True)
class Cut:
    """What was cut, and where the switch really was: the last line of its journal."""

    victims: list[int]
    last: str
    phase: str

    def __str__(self) -> str:
        return f"{self.last or 'nothing told'} ({self.phase})"


FILES = ("book names the new release", "new release enabled", "old release disabled", "closed copy written")
"""Moments of a promotion that no line of the journal tells, in their order."""


def moments_of(events: list[Event], old: str, new: str) -> list[Moment]:
    """Every boundary that a journal shows, each once, in order; progress is none."""
    told = [event for event in events if event.stage not in ("run", "promote") and event.kind != "progress"]
    roles = {old: "old", new: "new"}
    found = [Moment("event", f"{event.stage} {event.kind}", roles.get(str(event.data.get("release")), "")) for event in told]
    return list(dict.fromkeys(found))


def switch_began_at(events: list[Event]) -> float | None:
    """When the switch process told its first word, in seconds since the epoch; None: it has not."""
    return next((event.at for event in events if (event.stage, event.kind) == ("switch", "started")), None)


def cut_at(state: StatePaths, moment: Moment, old: str, new: str, run_id: str, victims: Victims, sign: signal.Signals) -> Cut | None:
    """Wait for the moment, then signal the victims at once; None: the switch was over before it came."""
    for _ in _looks():
        cutover = read_cutover(state)
        if cutover and cutover.run_id == run_id and _is_there(state, moment, old, new, run_id):
            return _cut(state, run_id, victims, sign)
        if cutover is None and state.run(run_id).cutover.exists():
            return None
    raise TimeoutError(f"{moment}: not within {PATIENCE_S:g} s")


def _looks() -> Iterator[None]:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        yield
        time.sleep(LOOK_S)


def _is_there(state: StatePaths, moment: Moment, old: str, new: str, run_id: str) -> bool:
    if moment.kind == "event":
        return moment in moments_of(read_events(state.run(run_id))[0], old, new)
    if moment.kind == "time":
        began_at = switch_began_at(read_events(state.run(run_id))[0])
        return began_at is not None and time.time() - began_at >= moment.after_s
    facts: dict[str, Callable[[], bool]] = {
        FILES[0]: lambda: json.loads(state.book.read_text())["current"] == new,
        FILES[1]: lambda: (WANTS / f"modelpivot-{new}.service").is_symlink(),
        FILES[2]: lambda: not (WANTS / f"modelpivot-{old}.service").is_symlink(),
        FILES[3]: lambda: state.run(run_id).cutover.exists(),
    }
    return facts[moment.name]()


def _cut(state: StatePaths, run_id: str, victims: Victims, sign: signal.Signals) -> Cut:
    cutover = read_cutover(state)
    switch = [cutover.switch.pid] if cutover and cutover.switch else []
    tree: list[int] = json.loads(TREE.read_text())
    pids = {"switch": switch or tree, "tree": tree, "all": [*tree, *switch]}[victims]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
    events, _ = read_events(state.run(run_id))
    last = events[-1] if events else None
    return Cut(pids, f"{last.stage} {last.kind}" if last else "", cutover.phase if cutover else "closed")
