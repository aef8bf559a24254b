"""Runs that are ended from outside: before the switch nothing is left behind, in the switch the host finishes alone and the next run goes on."""

import os
import signal
from pathlib import Path

from modelpivot.files import read_model
from modelpivot.flow_child import FlowChild
from modelpivot.host import is_alive
from modelpivot.models.cutover import ProcessId
from modelpivot.stages.report import report
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import read_lock
from modelpivot.weights.pace import Pace
from tests.flows.asked import count_events, read_flow_run
from tests.switching import wait_until
from tests.weights.repos import make_repo
from tests.world import World


def wait_for_child(run: Path, name: str) -> ProcessId:
    """The process of a run's child, once it is there."""
    return wait_until(lambda: read_model(run / "children" / f"{name}.pid", ProcessId), what=f"child {name}", deadline_s=180)


def owner(child: FlowChild) -> ProcessId:
    """The flow's process."""
    process = read_model(child.run.owner, ProcessId)
    assert process is not None
    return process


def test_a_run_that_is_told_to_end_leaves_no_child_and_no_lock(world: World) -> None:
    """SIGTERM in the middle of a download: it ends by itself, with its children, 130; the host is free, the old model serves, the event of it is there."""
    make_repo(world.root / "hub", "acme/big", shards=2, bytes_each=2_000_000)
    world.recipe("big")
    world.hub.pace = Pace(100_000)
    child = world.start("pivot", recipe="big", dry_run=False)
    fetching = wait_for_child(child.run.root, "fetch")
    child.end()  # what has not ended by itself it kills, and that could say nothing of itself
    wait_until(lambda: not is_alive(fetching), what="the end of the download")
    world.hub.pace = Pace(None)
    result = report(world.state, child.run.id)
    assert (result.outcome, result.exit_code) == ("interrupted", 130), world.tell(result)
    assert read_lock(world.state) is None and world.serving == "old"
    run = read_flow_run(result)
    assert run.state and run.state.is_crashed()
    wait_until(count_events("modelpivot.pivot.interrupted"), what="the outcome as an event")


def test_a_run_killed_in_the_switch_is_taken_up_by_the_next(world: World) -> None:
    """SIGKILL of the flow while the new engine loads: the switch goes on alone, the next run follows it, measures and promotes."""
    world.recipe("slow", repo="new", args={"load-s": 6})
    child = world.start("pivot", recipe="slow", dry_run=False)
    wait_until(lambda: (now := read_cutover(world.state)) and now.phase == "readying", what="the new engine to load", deadline_s=180)
    os.kill(owner(child).pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(owner(child)), what="the flow to end")
    assert report(world.state, child.run.id).outcome == "open"
    result = world.pivot("slow")
    assert (result.outcome, result.exit_code, world.serving) == ("promoted", 0, "slow"), world.tell(result)
    assert result.downtime_s and result.lost_requests is not None and read_cutover(world.state) is None
    assert report(world.state, child.run.id).outcome == "promoted"
