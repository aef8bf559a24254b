"""Every alert arrives at a receiver, once, after a real event of a real run; windows of hours are ten seconds here, and nothing else differs."""

import os
import shutil
import signal
from datetime import timedelta

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun

from modelpivot.files import read_model
from modelpivot.host import kill_group
from modelpivot.models.cutover import ProcessId
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import read_lock
from modelpivot.state.releases import read_current
from modelpivot.supervisors.process import ProcessSupervisor
from modelpivot.up.run import POOL
from tests.deployed import answer, let_its_time_pass, read_state, start, wait_for_state
from tests.switching import wait_until
from tests.up.conftest import HOOK, KEY, Upped, wait_for_loading

TOLD = {"What happened:", "Host:", "What to do"}
LONGER = timedelta(seconds=30)
"""A window in which a worker that was silent for a moment is back for certain."""


def wait_for_pool(status: str) -> None:
    """Until Prefect calls the pool of the hosts so."""
    client = get_client(sync_client=True)
    wait_until(lambda: client.read_work_pool(POOL).status == status, what=f"the pool to be {status}", deadline_s=180)


def name_of(run: FlowRun) -> str:
    """Its name, as it was when it had begun."""
    return get_client(sync_client=True).read_flow_run(run.id).name


def test_a_run_that_is_blocked_is_told(upped: Upped) -> None:
    """What happened, on which host, what to do, and a link that opens the run."""
    run = start("plan/plan", recipe="nowhere")
    assert wait_for_state(run).name == "Blocked"
    message = upped.receiver.wait_for("Blocked", str(run.id))
    assert message.subject == f"Blocked: {name_of(run)}" and all(word in message.body for word in TOLD)
    assert f"http://127.0.0.1:{upped.port}/runs/flow-run/{run.id}" in message.body and "Host: gpu-test" in message.body
    assert (message.path, message.key) == (f"/alerts/{HOOK}", f"Bearer {KEY}")


def test_a_run_that_went_back_is_told_as_that_alone(upped: Upped) -> None:
    """One ending, one alert: rolled back is no failure besides."""
    upped.pivot_to("old")
    run = start("pivot/pivot", recipe="garbage", dry_run=False)
    assert wait_for_state(run).name == "RolledBack" and upped.world.serving == "old"
    message = upped.receiver.wait_for("Rolled back", str(run.id))
    assert "garbage on gpu-test" in message.subject and upped.receiver.about(str(run.id)) == [message]


def test_corrupt_weights_are_told(upped: Upped) -> None:
    """A flipped byte in a shard of what serves."""
    upped.pivot_to("old")
    shard = next(iter(upped.world.host.weights_root.glob("acme--old/*/model-00001-of-*.safetensors")))
    content = shard.read_bytes()
    shard.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    try:
        run = start("check-weights/check-weights", recipe="old")
        assert wait_for_state(run).name == "WeightsCorrupt"
    finally:
        shard.write_bytes(content)
    assert shard.name in upped.receiver.wait_for("Weights corrupt", str(run.id)).body


def test_a_regressed_benchmark_is_told(upped: Upped) -> None:
    """What serves is measured, and is slower than the recipe's floor: told as that alone, with both figures. It serves on."""
    upped.pivot_to("old")
    run = start("benchmark/benchmark", recipe="demanding")
    assert wait_for_state(run).name == "Regressed" and upped.world.serving == "old"
    message = upped.receiver.wait_for("Benchmark regressed", str(run.id))
    assert "benchmark demanding on gpu-test" in message.subject and "at least 100" in message.body and "60" in message.body
    assert upped.receiver.about(str(run.id)) == [message]


def test_a_pivot_whose_gate_says_no_is_told_as_gone_back(upped: Upped) -> None:
    """The new model is measured, and is slower than its floor: the old one is back, and one alert says why, with both figures."""
    upped.pivot_to("old")
    run = start("pivot/pivot", recipe="demanding", dry_run=False)
    assert wait_for_state(run).name == "RolledBack" and upped.world.serving == "old"
    message = upped.receiver.wait_for("Rolled back", str(run.id))
    assert "demanding on gpu-test" in message.subject and "at least 100" in message.body and "60" in message.body
    assert upped.receiver.about(str(run.id)) == [message]


def test_a_question_is_told_and_ends_as_its_host_did(upped: Upped) -> None:
    """The new model serves unconfirmed and nobody says a word: told are the question and, when the host went back by itself, that; no failure."""
    upped.pivot_to("old")
    run = start("pivot/pivot", recipe="hasty", dry_run=False, promotion="person")
    assert wait_for_state(run, "Suspended").name == "Suspended"
    asked = upped.receiver.wait_for("A question", str(run.id))
    ended = wait_until(
        lambda: state if (state := read_state(run)).name == "RolledBack" else None, what="the run's true end", deadline_s=300
    )
    assert "nobody confirmed" in str(ended.message) and upped.world.serving == "old" and read_lock(upped.world.state) is None
    told = upped.receiver.wait_for("Rolled back", str(run.id))
    assert upped.receiver.about(str(run.id)) == [asked, told]


def test_a_question_that_nobody_answers_leaves_everything_as_it_was(upped: Upped) -> None:
    """No switch had begun: nothing is stopped, the run is not asked again and ends Blocked with what it had asked. Told are the question and that."""
    upped.pivot_to("old")
    release = read_current(upped.world.state)
    assert release
    supervisor = ProcessSupervisor(upped.world.state)
    before = supervisor.processes(release)
    run = start("benchmark/benchmark", starts=2)
    assert wait_for_state(run, "Suspended").name == "Suspended"
    asked = upped.receiver.wait_for("A question", str(run.id))
    let_its_time_pass(run)
    ended = wait_until(lambda: state if (state := read_state(run)).name == "Blocked" else None, what="the run's true end", deadline_s=300)
    assert f"nobody answered in time whether to start {release.id} again 1 time" in str(ended.message)
    assert before and supervisor.processes(release) == before and read_lock(upped.world.state) is None
    told = upped.receiver.wait_for("Blocked", str(run.id))
    assert upped.receiver.about(str(run.id)) == [asked, told]


def test_a_rollback_that_somebody_asked_for_is_no_alert(upped: Upped) -> None:
    """The new model serves unconfirmed, somebody starts `rollback`: Completed, and nobody is woken by it. Told is the pivot whose model went back,
    with the word that somebody asked for it."""
    upped.pivot_to("old")
    pivot = start("pivot/pivot", recipe="new", dry_run=False, promotion="person")
    assert wait_for_state(pivot, "Suspended").name == "Suspended" and upped.world.serving == "new"
    run = start("rollback/rollback", agreed=True)
    ended = wait_for_state(run)
    assert (ended.name, upped.world.serving, read_lock(upped.world.state)) == ("Completed", "old", None), ended
    answer(pivot, agreed=True)
    assert wait_for_state(pivot).name == "RolledBack"
    assert "somebody asked for it" in upped.receiver.wait_for("Rolled back", str(pivot.id)).body
    assert not upped.receiver.about(str(run.id))


def test_a_worker_that_is_gone_is_told(upped: Upped) -> None:
    """It is silent for a moment and comes back, which is not told; then it dies, within the window that its silence began, and that is.

    What serves goes on. `up` brings another one.
    """
    upped.shorten("modelpivot: worker offline", to=LONGER)
    worker = upped.process("worker").pid
    for sign, status in ((signal.SIGSTOP, "NOT_READY"), (signal.SIGCONT, "READY")):
        os.kill(worker, sign)
        wait_for_pool(status)
    kill_group(worker, signal.SIGKILL)
    assert "gpu-hosts" in upped.receiver.wait_for("Worker offline").subject
    assert upped.world.serving is not None
    upped.up()


def test_a_host_on_which_nothing_serves_is_told_on_the_urgent_channel(upped: Upped) -> None:
    """The new model answers rubbish, and the old one cannot start again, since its environment is gone: both ways failed."""
    upped.pivot_to("old")
    root = upped.world.host.environments_root
    run = start("pivot/pivot", recipe="doomed", dry_run=False)
    wait_for_loading(upped)
    root.rename(root.with_name("away"))
    try:
        assert wait_for_state(run).name == "NothingServes"
    finally:
        shutil.rmtree(root, ignore_errors=True)
        root.with_name("away").rename(root)
    message = upped.receiver.wait_for("NOTHING SERVES", str(run.id))
    assert message.path == f"/urgent/{HOOK}" and "modelpivot status" in message.body
    assert upped.receiver.about(str(run.id)) == [message]


def test_nothing_serves_is_told_when_the_run_was_killed(upped: Upped) -> None:
    """SIGKILL to the flow in the switch: its run can say no more than Crashed. The switch ends alone, nothing serves, and the host tells that."""
    upped.pivot_to("old")
    root, before = upped.world.host.environments_root, len(upped.receiver.about("NOTHING SERVES"))
    run = start("pivot/pivot", recipe="doomed", dry_run=False)
    owner = read_model(upped.world.state.run(wait_for_loading(upped).run_id).owner, ProcessId)
    assert owner is not None
    os.kill(owner.pid, signal.SIGKILL)
    root.rename(root.with_name("away"))
    try:
        assert wait_for_state(run).name == "Crashed"
        wait_until(lambda: read_cutover(upped.world.state) is None, what="the end of the switch", deadline_s=180)
    finally:
        shutil.rmtree(root, ignore_errors=True)
        root.with_name("away").rename(root)
    message = upped.receiver.wait_for("NOTHING SERVES", "it was killed")
    assert message.path == f"/urgent/{HOOK}" and str(run.id) in message.body
    assert len(upped.receiver.about("NOTHING SERVES")) == before + 1


def test_no_alert_came_twice(upped: Upped) -> None:
    """Of everything that the receiver was sent so far."""
    assert len(upped.receiver.messages) == len(set(upped.receiver.messages)) > 0
