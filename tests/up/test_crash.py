"""What dies, dies for real: flow, worker, server. In the end states tell the truth, the host is free, and what served serves."""

import os
import signal
import time

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, StateType

from modelpivot.files import read_model
from modelpivot.host import is_alive, kill_group
from modelpivot.models.cutover import Cutover, ProcessId
from modelpivot.models.result import RunResult
from modelpivot.state.cutovers import read_cutover, read_cutover_of_run
from modelpivot.state.lock import acquire_lock, read_lock, release_lock
from modelpivot.state.paths import RunPaths
from modelpivot.state.releases import read_current
from modelpivot.supervisors.process import ProcessSupervisor
from modelpivot.weights.pace import Pace
from tests.deployed import answer, begin_now, read_question, read_state, run_again, start, start_told, wait_for_state
from tests.switching import wait_until
from tests.up.conftest import UNTESTED, Upped, wait_for_loading, wait_for_switch
from tests.weights.repos import make_repo

PATIENT_S = 25.0
"""Seconds after which a window of 10 s was looked at for certain."""


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

    return run, wait_until(read, what="the download", deadline_s=180)


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
    state = wait_for_state(run, deadline_s=180)
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


def test_a_question_outlives_the_server_and_the_worker(upped: Upped) -> None:
    """SIGKILL to both while a run waits for a person. Nobody holds the host meanwhile, what serves is the same process; the next server has the
    question still, the yes that is given to it counts, and the next worker carries it out. It was asked, and told, once."""
    upped.pivot_to("old")
    current = read_current(upped.world.state)
    assert current
    supervisor = ProcessSupervisor(upped.world.state)
    engine = supervisor.processes(current)
    run = start("pivot/pivot", recipe="untested", dry_run=False)
    assert wait_for_state(run, "Suspended").name == "Suspended"
    upped.receiver.wait_for("A question", str(run.id))
    for role in ("server", "worker"):
        kill_group(upped.process(role).pid, signal.SIGKILL)
    assert read_cutover(upped.world.state) is None
    acquire_lock(upped.world.state, run_id="other", what="a test")
    release_lock(upped.world.state)
    upped.up()
    assert read_state(run).name == "Suspended" and f"{UNTESTED}, which was not tested here" in read_question(run)
    assert engine and supervisor.processes(current) == engine and upped.world.serving == "old"
    answer(run, agreed=True)
    assert wait_for_state(run).name == "Completed" and upped.world.serving == "untested"
    assert read_lock(upped.world.state) is None and len(upped.receiver.about(str(run.id))) == 1


def test_a_run_that_waits_after_a_restart_is_not_taken_for_dead(upped: Upped) -> None:
    """The server is killed while a run waits for a person; the next one holds what it learns of that run, since it never saw what came before. The
    run finds its host held, and waits for longer than a lost heartbeat takes (10 s here): it is not Crashed, and goes on when the host is free."""
    upped.pivot_to("old")
    run = start("stage/stage", recipe="untested")
    assert wait_for_state(run, "Suspended").name == "Suspended"
    kill_group(upped.process("server").pid, signal.SIGKILL)
    upped.up()
    upped.shorten("modelpivot: no heartbeat")
    acquire_lock(upped.world.state, run_id="other", what="a test")
    answer(run, agreed=True)
    assert wait_for_state(run, "AwaitingHost").name == "AwaitingHost"
    patient_until = time.monotonic() + PATIENT_S
    wait_until(lambda: time.monotonic() > patient_until or read_state(run).is_final(), what="time to go by", deadline_s=PATIENT_S + 5)
    found = read_state(run)  # before a minute is over, when it looks again by itself
    release_lock(upped.world.state)
    upped.shorten()
    assert found.name == "AwaitingHost", found
    begin_now(run)
    assert wait_for_state(run, "Suspended").name == "Suspended"  # as if it had just been started
    answer(run, agreed=True)
    assert wait_for_state(run).name == "Staged" and upped.world.serving == "old"


def test_an_api_that_goes_away_in_the_switch_is_told_the_true_end_later(upped: Upped) -> None:
    """SIGKILL to the server while the new model loads: the switch is done and promoted without it; when the server is back the run is Completed."""
    upped.pivot_to("old")
    run = start("pivot/pivot", recipe="slow", dry_run=False)
    found = wait_for_loading(upped)
    kill_group(upped.process("server").pid, signal.SIGKILL)
    wait_until(lambda: read_cutover(upped.world.state) is None, what="the end of the switch", deadline_s=180)
    closed = read_cutover_of_run(upped.world.state, found.run_id)
    assert closed and closed.outcome == "promoted" and upped.world.serving == "slow"
    upped.up()
    state = wait_for_state(run)
    assert (state.type, state.name) == (StateType.COMPLETED, "Completed"), state
    assert read_lock(upped.world.state) is None
    assert "slow on gpu-test" in get_client(sync_client=True).read_flow_run(run.id).name


def test_an_api_that_is_away_for_longer_than_a_run_tries_to_tell_its_end(upped: Upped) -> None:
    """SIGKILL to the server as the switch begins; it stays away until the run's process, which tries for 6 s here, has given up. The host is done and
    free, and the new model answers; the run is not left Running but Crashed, and a Retry finds what the host did and has nothing to do."""
    upped.pivot_to("old")
    run = start_told("pivot/pivot", {"PREFECT_CLIENT_MAX_RETRIES": "2"}, recipe="slow", dry_run=False)
    found = wait_for_switch(upped)
    kill_group(upped.process("server").pid, signal.SIGKILL)
    paths = upped.world.state.run(found.run_id)
    wait_until(lambda: not is_alive(owner(paths)), what="the run's process to give up", deadline_s=300)
    assert_promoted(upped, found, "slow")
    upped.up()
    state = wait_for_state(run)
    assert state.type == StateType.CRASHED, state
    run_again(run)
    ended = wait_until(lambda: state if not (state := wait_for_state(run)).is_crashed() else None, what="the second end", deadline_s=300)
    assert ended.name == "NoChange" and upped.world.serving == "slow" and read_lock(upped.world.state) is None


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_an_api_that_is_away_for_ten_minutes_is_told_the_true_end(upped: Upped) -> None:
    """The same, for ten minutes and with the deployments' own settings: the run outlives it, and in the end it is Completed, whatever it was
    taken for meanwhile. It is told in its 17th minute, when it tries for the last time."""
    upped.pivot_to("old")
    run = start("pivot/pivot", recipe="slow", dry_run=False)
    found = wait_for_switch(upped)
    kill_group(upped.process("server").pid, signal.SIGKILL)
    back_at = time.monotonic() + 600
    wait_until(lambda: read_cutover(upped.world.state) is None, what="the end of the switch", deadline_s=180)
    assert_promoted(upped, found, "slow")
    wait_until(lambda: time.monotonic() > back_at, what="ten minutes", deadline_s=601, interval_s=1)
    assert_promoted(upped, found, "slow")
    upped.up()
    ended = wait_until(
        lambda: state if (state := read_state(run)).name == "Completed" else None, what="the run's true end", deadline_s=900, interval_s=1
    )
    assert ended.type == StateType.COMPLETED and upped.world.serving == "slow" and read_lock(upped.world.state) is None
    process = owner(upped.world.state.run(found.run_id))
    wait_until(lambda: not is_alive(process), what="the run's process to hand over its last log lines", deadline_s=300, interval_s=1)


def assert_promoted(upped: Upped, switch: Cutover, name: str) -> None:
    """The switch is over and its model current, whatever Prefect knows of it; nobody holds the host, the model answers, the run's own report says so."""
    closed = read_cutover_of_run(upped.world.state, switch.run_id)
    result = wait_until(lambda: read_model(upped.world.state.run(switch.run_id).result, RunResult), what="the run's report")
    assert closed and (closed.outcome, result.outcome) == ("promoted", "promoted")
    assert upped.world.serving == name and read_lock(upped.world.state) is None
