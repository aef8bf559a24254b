"""Events to Prefect: log lines, a progress artifact at most once a second, markdown artifacts, an event for every outcome.

The journal has each event already; what Prefect does not take is not lost, and never stops a stage.
"""

import logging
import re
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any, cast
from uuid import UUID

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_progress_artifact, update_progress_artifact
from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from flows.markdown import files_markdown
from flows.poster import POSTER, Poster
from modelpivot.masking import mask_secrets
from modelpivot.models.event import Event
from modelpivot.models.host import HostConfig
from modelpivot.models.in_flight import read_in_flight
from modelpivot.models.result import RunResult
from modelpivot.models.size import say_bytes
from modelpivot.models.spelled import plain

LONGEST_LINE = 500
"""Characters of one log line; the full output of every child lies in the run's folder."""
PROGRESS_EVERY_S = 1.0
LAST_S = 2.0
TOLD = {
    "run_id", "outcome", "exit_code", "message", "released", "previous", "attempted", "downtime_s", "cause", "flow_run_url", "upgrade"
}  # fmt: skip
"""Of a result, in the payload of its event."""
STARTED_BY = "modelpivot.started-by"
LEFT = "modelpivot.run.left"
"""Expected by deployments/automations/no-heartbeat.yaml."""
TAG = {"prefect.resource.id": "prefect.tag.modelpivot", "prefect.resource.role": "tag"}
LEVELS = {"warning": logging.WARNING, "failed": logging.ERROR}


class PrefectListener:
    """Shows the events of a run where its tasks run; called on each task's own thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, poster: Poster = POSTER) -> None:
        self._clock, self._poster = clock, poster
        self._shown_at: dict[str, float] = {}
        self._bars: dict[str, Bar] = {}

    def __call__(self, event: Event) -> None:
        if event.kind == "progress":
            self._show_progress(event)
            return
        if event.kind == "started":
            self._bars.pop(event.stage, None)
            self._shown_at.pop(event.stage, None)
        _log(event)

    def _show_progress(self, event: Event) -> None:
        percent, now = percent_done(event), self._clock()
        is_due = now - self._shown_at.get(event.stage, -PROGRESS_EVERY_S) >= PROGRESS_EVERY_S
        if percent is None or not (is_due or percent == 100.0):
            return
        self._shown_at[event.stage] = now
        bar = self._bars.setdefault(event.stage, Bar(_key(event.stage)))
        self._poster.put(f"bar {event.stage}", partial(bar.show, percent, plain(progress_markdown(event))))


class Bar:
    """One progress artifact: made by its first showing, changed by the later ones."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._artifact: UUID | None = None

    def show(self, percent: float, text: str) -> None:
        """Raises what the client raises."""
        if self._artifact is None:
            self._artifact = cast(UUID, create_progress_artifact(percent, key=self._key, description=text))
        else:
            update_progress_artifact(self._artifact, percent, description=text)


def percent_done(event: Event) -> float | None:
    """0..100 of a progress event; None when it has no total."""
    done, total = event.data.get("done"), event.data.get("total")
    if not isinstance(done, int | float) or not isinstance(total, int | float) or total <= 0:
        return None
    return min(100.0, 100.0 * done / total)


def progress_markdown(event: Event) -> str:
    """What stands beside a bar: how far it is, and the files in flight. Pages show it as Markdown; it goes with the bar, in no request of its own."""
    return f"{describe_progress(event)}\n\n{files_markdown(*read_in_flight(event))}".strip()


def describe_progress(event: Event) -> str:
    """`40.1 GB (37.3 GiB) of 540.1 GB (503.0 GiB), 210.0 MB (200.3 MiB)/s, 40 min left`; other units as they are."""
    done, total, unit, rate, left_s = (event.data.get(key) for key in ("done", "total", "unit", "rate", "eta_s"))
    if unit != "B" or not isinstance(done, int | float) or not isinstance(total, int | float):
        return event.message or f"{event.stage}: {done} of {total} {unit or ''}".strip()
    parts = [f"{say_bytes(int(done))} of {say_bytes(int(total))}"]
    parts += [f"{say_bytes(int(rate))}/s"] if isinstance(rate, int | float) and rate else []
    parts += [f"{left_s / 60:.0f} min left" if left_s >= 120 else f"{left_s:.0f} s left"] if isinstance(left_s, int | float) else []
    return ", ".join(parts)


def show_markdown(key: str, markdown: str, *, title: str) -> None:
    """A markdown artifact of this flow or task run, handed over soon."""
    POSTER.put(key, partial(create_markdown_artifact, plain(markdown), key=_key(key), description=plain(title)))


def show_link(key: str, link: str, *, title: str) -> None:
    """A link artifact of this flow run, handed over soon."""
    POSTER.put(key, partial(create_link_artifact, link, link_text=link, key=_key(key), description=title))


def emit_outcome(flow_name: str, host: HostConfig, result: RunResult) -> None:
    """`modelpivot.<flow>.<outcome>` about this host, for automations; of what regressed also `modelpivot.benchmark.regressed`.

    The resource's `modelpivot.started-by` is `schedule` or `hand`: only the former is a nightly that can be missed.
    """
    payload = result.model_dump(mode="json", include=TOLD, exclude={"upgrade": {"changes": {"__all__": {"classes"}}}})
    _emit(f"modelpivot.{flow_name.replace('-', '_')}.{result.outcome}", host, payload)
    if result.outcome == "regressed" or (result.outcome == "failed" and result.gate == "benchmark"):
        _emit("modelpivot.benchmark.regressed", host, payload)


def emit_last(flow_name: str, host: HostConfig, result: RunResult) -> None:
    """The same for a run that is ended from outside: it waits for `LAST_S` at most, and nothing that goes wrong here comes back to it."""
    thread = Thread(target=copy_context().run, args=(emit_outcome, flow_name, host, result), daemon=True, name="last-event")
    thread.start()
    thread.join(LAST_S)


def tell_left() -> None:
    """That this run leaves its process on purpose, to begin anew later: its silence is no death.

    Prefect's own event of it follows the one of the state before, and a server that was restarted in between holds it for a quarter of an hour.
    """
    emit_event(event=LEFT, resource={"prefect.resource.id": f"prefect.flow-run.{flow_run.get_id()}"}, related=[TAG])


def _emit(name: str, host: HostConfig, payload: dict[str, Any]) -> None:
    run_id = flow_run.get_id()
    related = [{"prefect.resource.id": f"prefect.flow-run.{run_id}", "prefect.resource.role": "flow-run"}] if run_id else []
    resource = {"prefect.resource.id": f"modelpivot.host.{host.name}", "prefect.resource.name": host.name, STARTED_BY: _started_by()}
    emit_event(event=name, resource=resource, related=related, payload=payload)


def _started_by() -> str:
    context = FlowRunContext.get()
    return "schedule" if context and context.flow_run and context.flow_run.auto_scheduled else "hand"


def _log(event: Event) -> None:
    said = event.message or event.kind.replace("_", " ")
    hint = f" -> {event.data['hint']}" if event.data.get("hint") else ""
    line = plain(mask_secrets(" ".join(f"{said if event.stage == 'run' else f'{event.stage}: {said}'}{hint}".split())))
    short = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."
    try:
        logger = get_run_logger()
    except MissingContextError:
        return
    logger.log(LEVELS.get(event.kind, logging.INFO), "%s", short)


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
