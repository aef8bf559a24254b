"""The end of a run whose question the host answered itself: nobody said anything in time, or the answer came when its switch was over.

Prefect fails a run that was suspended for longer than its question may be answered. The automation `unanswered` starts it once more, under a
name of its own, so that it tells what the host did: the new model went back (or was kept, where the recipe says so), or nothing was done.
"""

from collections.abc import Sequence
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from flows.earlier import earlier_starts
from flows.ending import Ending
from flows.following import Relay, follow, require_promoted
from flows.queueing import is_deployed
from modelpivot.errors import PreconditionError
from modelpivot.models.cutover import Cutover
from modelpivot.models.event import Event
from modelpivot.stages.context import Context
from modelpivot.stages.report import find_cutover
from modelpivot.stages.standing import settle_standing
from modelpivot.stages.switch import is_closed
from modelpivot.state.runs import read_events

UNANSWERED = "Unanswered"
"""Name of the state in which such a run is started once more: deployments/automations/unanswered.yaml."""
LATE = "Late"
"""What Prefect calls any run that waits for its worker."""


def settle(context: Context, over: Cutover) -> Ending:
    """The end of a run whose switch came to its own while a person was asked: promoted by somebody, or SwitchFailed with its reason."""
    context.journal("log", f"the switch that this run asked about is over: {over.outcome}; {over.reason}", cutover_run=over.run_id)
    settle_standing(context, over)
    require_promoted(over)
    return Ending("promoted", f"{over.to_release} was promoted while this run waited")


def settle_unanswered(context: Context) -> Ending | None:
    """The end of a run that asked and got no answer; None for every other run. PreconditionError where it had begun no switch: nothing was done."""
    if not (is_deployed() and is_unanswered()):
        return None
    last = next(earlier_starts(context.state, context.run.id), None)
    events, _ = read_events(last) if last else ([], 0)
    cutover = find_cutover(context.state, last.id, events) if last else None
    if cutover is None:
        raise PreconditionError(
            f"nobody answered in time whether to {find_asked(events)}", hint="nothing was done; start it again to be asked again"
        )
    return settle(context, follow(context, cutover, Relay(context, context.state.run(cutover.run_id)), is_closed))


def is_unanswered() -> bool:
    """Whether this start of the flow run is the one after a question without an answer."""
    with get_client(sync_client=True) as client:
        states = client.read_flow_run_states(UUID(flow_run.get_id()))
    begun_as = [state.name for state in sorted(states, key=lambda state: state.timestamp) if state.is_scheduled() and state.name != LATE]
    return begun_as[-1:] == [UNANSWERED]


def find_asked(events: Sequence[Event]) -> str:
    """What the last start asked, in a few words."""
    return next((str(event.data["asked"]) for event in reversed(events) if "asked" in event.data), "go on")
