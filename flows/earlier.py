"""What earlier starts of the same flow run came to: after a Retry, an answer or a crash a run begins anew, and looks at what the host did meanwhile."""

from collections.abc import Iterator
from itertools import islice

from prefect.runtime import flow_run

from modelpivot.models.cutover import Cutover
from modelpivot.stages.context import Context
from modelpivot.stages.report import RUN, find_cutover, report
from modelpivot.state.paths import RunPaths, StatePaths
from modelpivot.state.runs import list_runs, read_events

NEWEST = 50
"""So many runs of a host are looked at."""


def say_earlier(context: Context) -> None:
    """Tell how the last start of this flow run ended; nothing to do for the first one."""
    if last := next(earlier_starts(context.state, context.run.id), None):
        result = report(context.state, last.id)
        context.journal("log", f"an earlier start of this run ({last.id}) came to: {result.outcome.replace('_', ' ')}; {result.message}")


def find_asked_switch(context: Context) -> Cutover | None:
    """The switch that this very try of the run (no Retry since) left to a person's word, if it is over by now; None otherwise."""
    for run in earlier_starts(context.state, context.run.id, run_count=flow_run.get_run_count()):
        events, _ = read_events(run)
        if (cutover := find_cutover(context.state, run.id, events)) and cutover.phase == "closed":
            return cutover
    return None


def earlier_starts(state: StatePaths, run_id: str, *, run_count: int | None = None) -> Iterator[RunPaths]:
    """Other runs of this flow run, newest first; with `run_count` only those of the same try."""
    mine = {"flow_run_id": flow_run.get_id(), **({"run_count": run_count} if run_count is not None else {})}
    if not mine["flow_run_id"]:
        return
    for run in islice(list_runs(state), NEWEST):
        if run.id != run_id and mine.items() <= _began(run).items():
            yield run


def origin() -> dict[str, str | int | None]:
    """What a run says of the flow run that carries it."""
    return {"flow_run_id": flow_run.get_id(), "run_count": flow_run.get_run_count()}


def _began(run: RunPaths) -> dict[str, object]:
    events, _ = read_events(run)
    return next((dict(event.data) for event in events if event.stage == RUN and event.kind == "started"), {})
