"""What the tests ask the Prefect server."""

from collections.abc import Callable, Collection
from typing import Any, TypeVar
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId, FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import Artifact, FlowRun, TaskRun

from modelpivot.models.result import RunResult
from tests.switching import wait_until

T = TypeVar("T")


def read_flow_run(result: RunResult) -> FlowRun:
    """The flow run of a result, once the server knows its end."""
    assert result.flow_run_id

    def read() -> FlowRun | None:
        run = get_client(sync_client=True).read_flow_run(result.flow_run_id)  # type: ignore[arg-type]
        return run if run.state and run.state.is_final() else None

    return wait_until(read, what="the flow run's end")


def read_task_runs(run: FlowRun, names: Collection[str]) -> list[TaskRun]:
    """Its task runs in the order they began, once the server, which records them late and one by one, knows the ends of all, and of tasks with these
    names."""

    def read() -> list[TaskRun] | None:
        runs = get_client(sync_client=True).read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])))
        ended = {task_name(one) for one in runs if one.state and one.state.is_final()}
        is_whole = ended.issuperset(names) and all(one.state and one.state.is_final() for one in runs)
        return sorted(runs, key=lambda one: one.start_time or one.created) if is_whole else None  # type: ignore[arg-type,return-value]

    return wait_until(read, what="the ends of all task runs")


def read_artifacts(run: FlowRun) -> dict[str, Artifact]:
    """Its artifacts by key."""
    return {artifact.key or "": artifact for artifact in list_artifacts(run.id)}


def list_artifacts(flow_run_id: UUID) -> list[Artifact]:
    """All artifacts that are attached to a flow run."""
    return get_client(sync_client=True).read_artifacts(
        artifact_filter=ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[flow_run_id]))
    )


def task_name(run: TaskRun) -> str:
    """The task's name without the suffix that tells its runs apart."""
    return run.name.rpartition("-")[0]


def count_events(name: str) -> Callable[[], int]:
    """How many events of this name the server holds."""
    return lambda: int(_ask_events(name)["total"])


def newest_event(name: str, run: FlowRun | None = None) -> dict[str, Any] | None:
    """The last event of this name, of a run where one is given; None: there is none."""
    events: list[dict[str, Any]] = _ask_events(name)["events"]
    related = [event for event in events if run is None or f"prefect.flow-run.{run.id}" in str(event["related"])]
    return related[0] if related else None


def _ask_events(name: str) -> dict[str, Any]:
    asked = {"filter": {"event": {"name": [name]}, "order": "DESC"}, "limit": 50}
    answer: dict[str, Any] = get_client(sync_client=True).request("POST", "/events/filter", json=asked).json()
    return answer
