"""Runs and their journals: an event is on disk before anything else hears of it."""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence

from pydantic import JsonValue, ValidationError

from modelpivot.files import read_model, write_model
from modelpivot.host import is_alive, own_process_id
from modelpivot.models.cutover import ProcessId
from modelpivot.models.event import Event, Kind
from modelpivot.state.paths import RunPaths, StatePaths
from modelpivot.state.spare import keep_spare

Listener = Callable[[Event], None]


def new_run_id(name: str) -> str:
    """Sortable by time, readable, unique: `20261130-114502-347-demo-1f3a`. Milliseconds, in UTC: two runs of one second have an order too."""
    now_ms = time.time_ns() // 1_000_000
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now_ms // 1000))}-{now_ms % 1000:03d}-{name}-{secrets.token_hex(2)}"


def open_run(state: StatePaths, run_id: str) -> RunPaths:
    """Make the run's folder and own it with this process; idempotent."""
    run = state.run(run_id)
    run.root.mkdir(parents=True, exist_ok=True)
    write_model(run.owner, own_process_id())
    keep_spare(state)
    return run


def is_run_alive(run: RunPaths) -> bool:
    """Whether the process that carries the run still lives."""
    owner = read_model(run.owner, ProcessId)
    return owner is not None and is_alive(owner)


def list_runs(state: StatePaths) -> list[RunPaths]:
    """All runs, newest first."""
    return [state.run(path.name) for path in sorted(state.runs.glob("*"), reverse=True) if path.is_dir()]


class Journal:
    """A `Tell` for one stage of one run: appends a line, then hands the event to its listeners.

    Several processes of a run write to one journal; a line goes out in one O_APPEND write, so lines never mix.
    """

    def __init__(self, run: RunPaths, stage: str, listeners: Sequence[Listener] = ()) -> None:
        self._run, self._stage, self._listeners = run, stage, listeners

    def stage(self, stage: str) -> "Journal":
        """The same journal, told from another stage."""
        return Journal(self._run, stage, self._listeners)

    def __call__(self, kind: Kind, message: str = "", **data: JsonValue) -> None:
        event = Event(at=time.time(), stage=self._stage, kind=kind, message=message, data=data)
        append_event(self._run, event)
        for listener in self._listeners:
            listener(event)


def append_event(run: RunPaths, event: Event) -> None:
    """One line at the end of the journal."""
    handle = os.open(run.events, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(handle, event.model_dump_json().encode() + b"\n")
    finally:
        os.close(handle)


def read_events(run: RunPaths, offset: int = 0) -> tuple[list[Event], int]:
    """Events from byte `offset` on, and where to read on next. A torn last line waits for its rest; a line that is no event is passed over."""
    try:
        with run.events.open("rb") as file:
            file.seek(offset)
            content = file.read()
    except FileNotFoundError:
        return [], offset
    whole = content[: content.rfind(b"\n") + 1]
    events = [event for line in whole.splitlines() if (event := _parse(line)) is not None]
    return events, offset + len(whole)


def _parse(line: bytes) -> Event | None:
    try:
        return Event.model_validate(json.loads(line))
    except (ValueError, ValidationError):
        return None


def follow_events(run: RunPaths, is_over: Callable[[], bool], *, offset: int = 0, interval_s: float = 0.1) -> Iterator[Event]:
    """Events from byte `offset` on as they come, until `is_over` and everything told was read."""
    while True:
        over = is_over()
        events, offset = read_events(run, offset)
        yield from events
        if over:
            return
        time.sleep(interval_s)
