"""What dies, dies for real: flow, worker, server. In the end states tell the truth, the host is free, and what served serves."""

import os
import signal

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, StateType

from modelpivot.files import read_model
from modelpivot.host import is_alive, kill_group
from modelpivot.models.cutover import ProcessId
from modelpivot.state.cutovers import read_cutover, read_cutover_of_run
from modelpivot.state.lock import read_lock
from modelpivot.state.paths import RunPaths
from modelpivot.weights.pace import Pace
from tests.deployed import start, wait_for_state
from tests.switching import wait_until
from tests.up.conftest import Upped, wait_for_loading
from tests.weights.repos import make_repo


def begin_download(upped: Upped) -> tuple[FlowRun, RunPaths]:
    """A pivot in the middle of a slow download."""
    upped.pivot_to("old")
    make_repo(upped.world.root / "hub", "acme/big", shards=2, bytes_each=2_000_000)
    upped.world.hub.pace = Pace(50_000)
    before = set(upped.world.state.runs.glob("*big*"))
    run = start("pivot/pivot", recipe="big", dry_run=False)

    def read() -> RunPaths | None:
        fresh = set(upped.world.state.runs.glob("*big*")) - before
        return next((RunPaths(root) for root in fresh if (root / "children" / "fetch.pid").exists()), None)

    return run, wait_until(read, what="the download", deadline_s=90)


def owner(run: RunPaths) -> ProcessId:
    """The flow's process."""
    process = read_model(run.owner, ProcessId)
    assert process is not None
    return process


def assert_host_is_well(upped: Upped, run: RunPaths) -> None:
    """No child of the run lives, the next run gets the host, `old` answers."""
    child = read_model(run.root / "children" / "fetch.pid", ProcessId)
    assert child and wait_until(lambda: not is_alive(child), what="the end of the download")
    upped.world.hub.pace = Pace(None)
    lock = read_lock(upped.world.state)
    assert lock is None or not is_alive(lock.holder)
    assert upped.world.serving == "old"


def test_a_killed_flow_is_crashed_and_leaves_a_free_host(upped: Upped) -> None:
    """SIGKILL to the flow: the worker says Crashed, its children are gone, the model that served does, and somebody is told."""
    run, paths = begin_download(upped)
    os.kill(owner(paths).pid, signal.SIGKILL)
    assert wait_for_state(run).type == StateType.CRASHED
    assert_host_is_well(upped, paths)
    assert "on gpu-test" in upped.receiver.wait_for("Crashed", str(run.id)).subject


def test_a_run_whose_worker_died_with_it_is_crashed_by_its_silence(upped: Upped) -> None:
    """SIGKILL to worker and flow: nobody is left to say anything. The missing heartbeat marks the run Crashed, once, and it is told."""
    upped.shorten("modelpivot: no heartbeat")
    run, paths = begin_download(upped)
    kill_group(upped.process("worker").pid, signal.SIGKILL)
    os.kill(owner(paths).pid, signal.SIGKILL)
    state = wait_for_state(run, deadline_s=90)
    upped.up()
    assert state.type == StateType.CRASHED and "heartbeat" in str(state.message)
    assert_host_is_well(upped, paths)
    upped.receiver.wait_for("Crashed", str(run.id))


@pytest.mark.long
def test_a_run_whose_worker_dies_in_the_switch_is_finished_by_the_next_one(upped: Upped) -> None:
    """SIGKILL to the worker while the new model loads: its run says Crashed, the switch goes on without both, the next run takes it up and promotes."""
    upped.pivot_to("old")
    run = start("pivot/pivot", recipe="slow", dry_run=False)
    switched = wait_for_loading(upped)
    os.kill(upped.process("worker").pid, signal.SIGKILL)
    assert wait_for_state(run).type == StateType.CRASHED
    upped.up()
    assert wait_for_state(start("pivot/pivot", recipe="slow", dry_run=False)).name == "Completed"
    closed = read_cutover_of_run(upped.world.state, switched.run_id)
    assert closed and closed.outcome == "promoted" and upped.world.serving == "slow" and read_lock(upped.world.state) is None


def test_an_api_that_goes_away_in_the_switch_is_told_the_true_end_later(upped: Upped) -> None:
    """SIGKILL to the server while the new model loads: the switch is done and promoted without it; when the server is back the run is Completed."""
    upped.pivot_to("old")
    run = start("pivot/pivot", recipe="slow", dry_run=False)
    found = wait_for_loading(upped)
    kill_group(upped.process("server").pid, signal.SIGKILL)
    wait_until(lambda: read_cutover(upped.world.state) is None, what="the end of the switch", deadline_s=60)
    closed = read_cutover_of_run(upped.world.state, found.run_id)
    assert closed and closed.outcome == "promoted" and upped.world.serving == "slow"
    upped.up()
    state = wait_for_state(run)
    assert (state.type, state.name) == (StateType.COMPLETED, "Completed"), state
    assert read_lock(upped.world.state) is None
    assert "slow on gpu-test" in get_client(sync_client=True).read_flow_run(run.id).name
