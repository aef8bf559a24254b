"""A run that finds its host held goes back into Prefect's queue: it leaves process and worker, and looks again later.

For runs of deployments; one that a command started ends HostHeld, and whoever started it decides.
"""

from datetime import UTC, datetime, timedelta
from typing import NoReturn

from prefect import State
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import Pause
from prefect.runtime import deployment, flow_run
from prefect.states import Scheduled

from flows.tell import tell_left

LOOK_AGAIN_S = 60.0
WAIT_AT_MOST_S = 12 * 3600.0
"""Seconds after its first start for which a run goes on looking."""


def is_deployed() -> bool:
    """Whether Prefect can start this run again: it belongs to a deployment, whose worker takes it up."""
    return deployment.get_id() is not None


def may_queue() -> bool:
    """Whether this run may still wait for its host."""
    context = FlowRunContext.get()
    began = context.flow_run.start_time if context and context.flow_run else None
    waited_s = (datetime.now(UTC) - began).total_seconds() if began else 0.0
    return is_deployed() and waited_s < WAIT_AT_MOST_S


def queue_again(why: str) -> NoReturn:
    """Leave this process; the run is Scheduled, named AwaitingHost, and begins anew in a minute."""
    tell_left()
    state: State[None] = Scheduled(name="AwaitingHost", message=why, scheduled_time=datetime.now(UTC) + timedelta(seconds=LOOK_AGAIN_S))
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(flow_run.get_id(), state)  # type: ignore[arg-type]
    raise Pause(state=state)
