"""Deployments as a person uses them: put in place, started through the API, carried out by a real process worker, cancelled."""

import os
import sys

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.exceptions import PrefectHTTPStatusError
from prefect.states import Cancelling
from pydantic import SecretStr

from blocks import GpuHost, HubAccess
from deployments.apply import WORK_POOL
from modelpivot.files import read_model
from modelpivot.host import is_alive, run_command
from modelpivot.models.cutover import ProcessId
from modelpivot.models.hub_account import HubAccount
from modelpivot.state.lock import read_lock
from modelpivot.weights.pace import Pace
from tests.deployed import apply, read_below, start, start_told, wait_for_log, wait_for_state
from tests.flows.asked import list_artifacts
from tests.switching import wait_until
from tests.weights.repos import make_repo
from tests.world import PROJECT, World

TOKEN = "hf_planted_token_that_must_not_be_seen"
DEPLOYMENTS = [
    f"{name}/{name}"
    for name in (
        "benchmark",
        "check-weights",
        "cleanup",
        "cutover",
        "pivot",
        "plan",
        "promote",
        "reclaim",
        "rollback",
        "stage",
        "upgrade-test",
    )
] + ["upgrade-test/gpu-01"]


def test_apply_puts_everything_in_place_and_may_be_run_again(deployed: World) -> None:
    """Pool, blocks and all deployments of prefect.yaml are there; a second time changes nothing."""
    apply(deployed)
    lines = apply(deployed)
    assert lines[0] == f"work pool {WORK_POOL}: there"
    assert [line.split()[1] for line in lines if line.startswith("block ")] == ["alert-channel:", "gpu-host:", "hub-access:"]
    assert sorted(line.split()[1].rstrip(":") for line in lines if line.startswith("deployment ")) == sorted(DEPLOYMENTS)
    assert {line.split(": ")[2].partition(" (")[0] for line in lines if line.startswith("automation ")} == {"there"}
    client = get_client(sync_client=True)
    assert client.read_work_pool(WORK_POOL).type == "process"
    pivot = client.read_deployment_by_name("pivot/pivot")
    assert pivot.pull_steps == [{"prefect.deployments.steps.set_working_directory": {"directory": str(PROJECT)}}]


@pytest.mark.parametrize(("url", "code", "words"), [("http://127.0.0.1:9/api", 3, "does not answer"), ("", 2, "PREFECT_API_URL")])
def test_apply_says_what_is_missing(url: str, code: int, words: str) -> None:
    """An API that is away ends 3, none named ends 2, each in a sentence and not in a traceback."""
    argv = [sys.executable, "-m", "deployments.apply"]
    result = run_command(argv, timeout_s=120, env={**os.environ, "PREFECT_API_URL": url}, cwd=PROJECT, is_checked=False)
    assert result.returncode == code and words in result.stderr and "Traceback" not in result.stderr


def test_the_form_refuses_a_recipe_that_is_not_there(deployed: World) -> None:
    """The API itself refuses a value outside the drop-down, and names the field."""
    with pytest.raises(PrefectHTTPStatusError) as caught:
        start("pivot/pivot", recipe="nothing-like-it")
    assert "recipe" in caught.value.response.text


@pytest.mark.usefixtures("worker")
def test_a_deployed_pivot_does_the_whole_job(old_serves: World) -> None:
    """Through the API and a worker: promoted, Completed, and it answers."""
    run = start("pivot/pivot", recipe="new", dry_run=False)
    state = wait_for_state(run)
    assert (state.type, state.name, old_serves.serving) == (StateType.COMPLETED, "Completed", "new"), state.message
    assert get_client(sync_client=True).read_flow_run(run.id).name == "new on gpu-01"


@pytest.mark.usefixtures("worker")
def test_a_cancelled_run_ends_whole_and_soon(deployed: World) -> None:
    """Cancel in mid-download, which has minutes to go: Cancelled, its children gone, the host free, the model that served still does."""
    make_repo(deployed.root / "hub", "acme/big", shards=2, bytes_each=2_000_000)
    deployed.hub.pace, serving = Pace(20_000), deployed.serving
    run = start("pivot/pivot", recipe="big", dry_run=False)
    pids = wait_until(lambda: list(deployed.state.runs.glob("*big*/children/fetch.pid")), what="the download", deadline_s=180)
    fetching = read_model(pids[0], ProcessId)
    get_client(sync_client=True).set_flow_run_state(run.id, Cancelling())
    state = wait_for_state(run, deadline_s=120)
    deployed.hub.pace = Pace(None)
    assert state.type == StateType.CANCELLED, state
    assert fetching and wait_until(lambda: not is_alive(fetching), what="the end of the download")
    assert read_lock(deployed.state) is None and deployed.serving == serving


@pytest.mark.usefixtures("worker")
def test_blocks_say_where_and_how_and_their_secret_is_seen_nowhere(deployed: World) -> None:
    """A run on the host and Hub of two blocks, picked as the form picks them; the token is in no parameter, log, artifact or file of the state."""
    host = GpuHost(config=deployed.host).save("picked", overwrite=True)
    account = HubAccount(endpoint=deployed.hub.base_url, token=SecretStr(TOKEN))
    hub = HubAccess(account=account).save("picked", overwrite=True)
    run = start("plan/plan", recipe="new", host={"$ref": {"block_document_id": str(host)}}, hub={"$ref": {"block_document_id": str(hub)}})
    state = wait_for_state(run)
    client = get_client(sync_client=True)
    ended = client.read_flow_run(run.id)
    assert (state.type, ended.name) == (StateType.COMPLETED, f"plan new on {deployed.host.name}"), state.message
    logs = wait_for_log(run, "Finished in state")
    artifacts = [str(artifact.data) for artifact in list_artifacts(run.id)]
    files = [content.decode(errors="replace") for content in read_below(deployed.host.state_dir).values()]
    assert logs and artifacts and files
    assert not [text for text in (ended.model_dump_json(), *logs, *artifacts, *files) if TOKEN in text]


@pytest.mark.usefixtures("worker")
def test_a_run_that_reaches_the_wrong_host_changes_nothing_there(deployed: World) -> None:
    """With several workers in one pool a run may land on any; a block of another host than the worker's own is refused by name."""
    host = GpuHost(config=deployed.host.model_copy(update={"name": "gpu-other"})).save("other", overwrite=True)
    runs = len(list(deployed.state.runs.glob("*")))
    state = wait_for_state(start("plan/plan", recipe="new", host={"$ref": {"block_document_id": str(host)}}))
    assert state.name == "Blocked" and "expected a worker on gpu-other" in (state.message or ""), state
    assert len(list(deployed.state.runs.glob("*"))) == runs


@pytest.mark.usefixtures("worker")
def test_a_wrong_word_of_the_workers_configuration_blocks_its_runs(deployed: World) -> None:
    """Blocked, as anything that stands in the way, with the variable and what was found: a person reads it in the run's state and in its alert."""
    runs = len(list(deployed.state.runs.glob("*")))
    state = wait_for_state(start_told("plan/plan", {"MODELPIVOT_PORT": "high"}, recipe="new"))
    assert state.name == "Blocked" and "MODELPIVOT_PORT" in (state.message or "") and "'high'" in (state.message or ""), state
    assert len(list(deployed.state.runs.glob("*"))) == runs
