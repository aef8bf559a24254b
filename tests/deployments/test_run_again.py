"""The button Retry: the same run begins anew, reads the facts again, and finds what is done and what the host did meanwhile."""

import os
import signal

import pytest
from prefect.client.schemas.objects import StateType

from modelpivot.files import read_model
from modelpivot.models.cutover import ProcessId
from modelpivot.state.cutovers import read_cutover
from tests.deployed import run_again, start, wait_for_log, wait_for_state
from tests.switching import wait_until
from tests.world import World

pytestmark = pytest.mark.usefixtures("worker")


def test_a_run_that_failed_goes_on_when_the_cause_is_mended(old_serves: World) -> None:
    """A hook says no: Failed. Mended and run again: facts are read a second time, and the stage is done."""
    run = start("stage/stage", recipe="hooked")
    assert wait_for_state(run).name == "Failed"
    (old_serves.root / "mended").touch()
    run_again(run)
    ended = wait_until(lambda: state if (state := wait_for_state(run)).name != "Failed" else None, what="the second end", deadline_s=300)
    assert ended.name == "Staged", ended
    logs = wait_for_log(run, "an earlier start of this run", "Finished in state Staged")
    assert len([line for line in logs if line.startswith("preflight: reading")]) == 2
    assert [line for line in logs if line.startswith("an earlier start of this run") and "came to: failed" in line]


def test_a_run_that_was_lost_in_the_switch_finds_what_the_host_did(old_serves: World) -> None:
    """SIGKILL of the flow's process while the new engine loads: Crashed. Run again, it takes the open switch up and promotes."""
    run = start("pivot/pivot", recipe="slow", dry_run=False)
    loading = wait_until(
        lambda: now if (now := read_cutover(old_serves.state)) and now.phase == "readying" else None,
        what="the new engine to load",
        deadline_s=300,
    )
    owner = read_model(old_serves.state.run(loading.run_id).owner, ProcessId)
    assert owner is not None
    os.kill(owner.pid, signal.SIGKILL)
    assert wait_for_state(run).type == StateType.CRASHED
    run_again(run)
    ended = wait_until(lambda: state if not (state := wait_for_state(run)).is_crashed() else None, what="the second end", deadline_s=300)
    assert (ended.type, old_serves.serving) == (StateType.COMPLETED, "slow"), ended
    wait_for_log(run, "taking up the switch")
