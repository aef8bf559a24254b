"""A host with every deployment in place, and a real worker, one for a folder of tests; and what a person does by the API: start, wait, answer, rerun."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId, LogFilter, LogFilterFlowRunId
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.states import Paused, Scheduled
from prefect.types._datetime import now

from deployments.apply import WORK_POOL
from modelpivot.host import run_command
from modelpivot.up.run import queue_words
from modelpivot.waiting import wait_for
from tests.prefect_server import end_group
from tests.standin_wheel import build_wheel
from tests.switching import wait_until
from tests.world import DEADLINES, PROJECT, World, make_world

UNTESTED = "kimi-k2.5-nvfp4"
"""A recipe whose engine was not tested: its plan asks."""


@pytest.fixture(scope="package")
def deployed(prefect_api: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A host on which nothing serves yet.

    One recipe asks a question; `hasty` waits seconds for a word, `hooked` for a file, `slow` loads for long, `big` has much to fetch.
    """
    made = make_world(tmp_path_factory.mktemp("deployed"))
    made.host = made.host.model_copy(update={"name": "gpu-01", "reclaim_after_s": 0, "hub_cache": made.root / "hub-cache"})
    build_wheel(made.root / "wheels", "1.1")
    made.recipe("big")
    made.recipe("hooked", repo="new", hooks={"before": [f"test -e {made.root / 'mended'}"]})
    made.recipe("slow", repo="new", args={"load-s": 8})
    made.recipe("hasty", repo="new", deadlines={**DEADLINES, "confirm_s": 20})
    made.recipe(UNTESTED, repo="new", engine={"name": "standin", "version": "1.1"})
    try:
        apply(made)
        yield made
    finally:
        made.clean_up()
        made.hub.stop()


@pytest.fixture(scope="package")
def worker(deployed: World) -> Iterator[None]:
    """A process worker of this host, with its configuration in its environment."""
    with working(deployed):
        yield


@contextlib.contextmanager
def working(world: World, **changes: str) -> Iterator[None]:
    """A worker that polls what is for any host, and its own queue. `changes`: variables that make it another host's."""
    name = changes.get("MODELPIVOT_NAME", world.host.name)
    argv = [sys.executable, "-m", "prefect", "worker", "start", "--pool", WORK_POOL, "--type", "process", "--name", name]
    argv += queue_words(world.host.model_copy(update={"name": name}))
    environment = {**os.environ, **world.environment, "PREFECT_WORKER_QUERY_SECONDS": "1", **changes}
    with (world.root / f"worker-{name}.log").open("wb") as log:
        process = subprocess.Popen(argv, env=environment, cwd=world.root, stdout=log, stderr=log, start_new_session=True)
    try:
        yield
    finally:
        end_group(process, within_s=20)


@pytest.fixture
def old_serves(deployed: World) -> World:
    """The same host, the model `old` serving."""
    if deployed.serving != "old":
        result = deployed.pivot("old")
        assert result.outcome == "promoted", deployed.tell(result)
    return deployed


def apply(world: World, **changes: str) -> list[str]:
    """`python -m deployments.apply`, its lines."""
    argv = [sys.executable, "-m", "deployments.apply"]
    return run_command(argv, timeout_s=400, env={**os.environ, **world.environment, **changes}, cwd=PROJECT).stdout.splitlines()


def start(deployment: str, **parameters: Any) -> FlowRun:
    """A run of a deployment, as the form starts it."""
    return start_told(deployment, {}, **parameters)


def start_told(deployment: str, variables: Mapping[str, str], **parameters: Any) -> FlowRun:
    """The same; its process has these variables beside those of the deployment."""
    client = get_client(sync_client=True)
    found = client.read_deployment_by_name(deployment)
    return client.create_flow_run_from_deployment(
        found.id, parameters={**found.parameters, **parameters}, job_variables={"env": dict(variables)} if variables else None
    )


def find_open_run(deployment: str) -> FlowRun | None:
    """The newest of its runs that goes on, as the server has it now."""
    client = get_client(sync_client=True)
    only = FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=[client.read_deployment_by_name(deployment).id]))
    going_on = [run for run in client.read_flow_runs(flow_run_filter=only) if run.state and not run.state.is_final()]
    return max(going_on, key=lambda run: run.created.timestamp() if run.created else 0, default=None)


def read_state(run: FlowRun) -> State[Any]:
    """Its state now."""
    state = get_client(sync_client=True).read_flow_run(run.id).state
    assert state is not None
    return state


def wait_for_state(run: FlowRun, *names: str, deadline_s: float = 300) -> State[Any]:
    """Its state once it is final, or has one of the names."""

    def read() -> State[Any] | None:
        state = read_state(run)
        return state if state.is_final() or state.name in names else None

    return wait_until(read, what=f"the end of {run.name}, or {names}", deadline_s=deadline_s, interval_s=0.2)


def wait_for_log(run: FlowRun, *begins: str) -> list[str]:
    """Every line that its page shows, as soon as one begins with each of these: lines arrive after the state that they lead to."""
    only = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run.id]))

    def read() -> list[str]:
        return [log.message for log in get_client(sync_client=True).read_logs(only)]

    def judge(lines: list[str], waited_s: float) -> list[str] | None:
        return lines if all(any(line.startswith(words) for line in lines) for words in begins) else None

    return wait_for(read, judge, what=f"lines of {run.name}: {begins}", deadline_s=180)


def read_below(root: Path) -> dict[Path, bytes]:
    """Every file below a folder in which others are at work: what goes meanwhile is left out."""
    found = {}
    for folder, _, names in os.walk(root):
        for path in map(Path(folder).joinpath, names):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file():
                    found[path] = path.read_bytes()
    return found


def answer(run: FlowRun, **fields: Any) -> None:
    """Fill in the form of a suspended run, as its page does."""
    get_client(sync_client=True).resume_flow_run(run.id, run_input=fields)


def read_question(run: FlowRun) -> str:
    """What the form of a suspended run says."""
    from prefect.input import read_flow_run_input

    keyset = read_state(run).state_details.run_input_keyset
    assert keyset is not None
    return str(read_flow_run_input(keyset["description"], flow_run_id=run.id))


def let_its_time_pass(run: FlowRun) -> None:
    """Have the question of a suspended run end in a second, as if a day had gone by: everything else is left to Prefect."""
    soon: State[Any] = Paused(pause_expiration_time=now("UTC") + timedelta(seconds=1), reschedule=True)
    get_client(sync_client=True).set_flow_run_state(run.id, soon, force=True)


def begin_now(run: FlowRun) -> None:
    """Have a run that waits for its time begin now."""
    get_client(sync_client=True).set_flow_run_state(run.id, Scheduled())


def run_again(run: FlowRun) -> None:
    """What the button Retry does."""
    retry: State[Any] = State(type=StateType.SCHEDULED, name="AwaitingRetry", message="Retry from the UI")
    get_client(sync_client=True).set_flow_run_state(run.id, retry)
