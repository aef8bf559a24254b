"""Events to Prefect: log lines, a progress artifact at most once a second, markdown artifacts, an event for every outcome.

The journal has each event already; what Prefect does not take is not lost, and never stops a stage.
"""

import logging
import re
import time
from collections.abc import Callable
from typing import cast
from uuid import UUID

import httpx
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, update_progress_artifact
from prefect.events import emit_event
from prefect.exceptions import MissingContextError, PrefectException
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from modelpivot.models.event import Event
from modelpivot.models.host import HostConfig
from modelpivot.models.result import RunResult
from modelpivot.models.size import say_bytes

LONGEST_LINE = 500
"""Characters of one log line; the full output of every child lies in the run's folder."""
PROGRESS_EVERY_S = 1.0
PAUSE_AFTER_FAILURE_S = 60.0
"""An API that is away is asked for artifacts again after so long, so that no stage waits for it at every step."""

LEVELS = {"warning": logging.WARNING, "failed": logging.ERROR}


class PrefectListener:
    """Shows the events of a run where its tasks run; called on each task's own thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._bars: dict[str, tuple[UUID | None, float]] = {}
        self._quiet_until = 0.0

    def __call__(self, event: Event) -> None:
        if event.kind == "progress":
            self._show_progress(event)
        else:
            if event.kind in ("finished", "failed"):
                self._bars.pop(event.stage, None)
            _log(event)

    def _show_progress(self, event: Event) -> None:
        percent = percent_done(event)
        artifact, shown_at = self._bars.get(event.stage, (None, -PROGRESS_EVERY_S))
        now = self._clock()
        is_due = now - shown_at >= PROGRESS_EVERY_S or percent == 100.0
        if percent is None or not is_due or now < self._quiet_until:
            return
        try:
            self._bars[event.stage] = (_show_bar(artifact, event, percent), now)
        except (httpx.HTTPError, PrefectException) as error:
            self._quiet_until = now + PAUSE_AFTER_FAILURE_S
            logging.getLogger(__name__).warning("Prefect takes no progress now (%s); the run goes on", error)


def percent_done(event: Event) -> float | None:
    """0..100 of a progress event; None when it has no total."""
    done, total = event.data.get("done"), event.data.get("total")
    if not isinstance(done, int | float) or not isinstance(total, int | float) or total <= 0:
        return None
    return min(100.0, 100.0 * done / total)


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
    """A markdown artifact of this flow or task run; a Prefect that does not take it is a warning."""
    try:
        create_markdown_artifact(markdown, key=_key(key), description=title)
    except (httpx.HTTPError, PrefectException) as error:
        logging.getLogger(__name__).warning("Prefect takes no artifact %s now (%s)", key, error)


def emit_outcome(flow_name: str, host: HostConfig, result: RunResult) -> None:
    """`modelpivot.<flow>.<outcome>` about this host, for automations."""
    run_id = flow_run.get_id()
    related = [{"prefect.resource.id": f"prefect.flow-run.{run_id}", "prefect.resource.role": "flow-run"}] if run_id else []
    emit_event(
        event=f"modelpivot.{flow_name}.{result.outcome}",
        resource={"prefect.resource.id": f"modelpivot.host.{host.name}", "prefect.resource.name": host.name},
        related=related,
        payload=result.model_dump(
            mode="json", include={"run_id", "outcome", "exit_code", "message", "released", "previous", "attempted", "downtime_s"}
        ),
    )


def _show_bar(artifact: UUID | None, event: Event, percent: float) -> UUID:
    text = describe_progress(event)
    if artifact is None:
        return cast(UUID, create_progress_artifact(percent, key=_key(event.stage), description=text))
    return cast(UUID, update_progress_artifact(artifact, percent, description=text))


def _log(event: Event) -> None:
    said = event.message or event.kind.replace("_", " ")
    hint = f" -> {event.data['hint']}" if event.data.get("hint") else ""
    line = " ".join(f"{said if event.stage == 'run' else f'{event.stage}: {said}'}{hint}".split())
    short = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."
    try:
        logger = get_run_logger()
    except MissingContextError:
        return
    logger.log(LEVELS.get(event.kind, logging.INFO), "%s", short)


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
