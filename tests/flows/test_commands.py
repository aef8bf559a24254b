"""The commands that start a flow: a pivot in two halves, and the question to who sits at a terminal."""

import json
import os
import subprocess
import sys

import pytest

from modelpivot.models.result import RunResult
from modelpivot.settings import to_environment
from modelpivot.stages.report import report
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import read_lock
from modelpivot.state.releases import list_releases
from modelpivot.state.runs import list_runs
from tests.flows.asked import read_flow_run
from tests.world import World


def command(world: World, *words: str) -> tuple[int, RunResult]:
    """A command with --json: its exit code and its document."""
    done = subprocess.run(
        argv(*words, "--json"), env=environment(world), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    return done.returncode, RunResult.model_validate(json.loads(done.stdout))


def answered(world: World, answer: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command with a terminal as its standard input, on which this is typed."""
    ours, theirs = os.openpty()
    os.write(ours, answer.encode())
    try:
        return subprocess.run(argv(*words), env=environment(world), stdin=theirs, capture_output=True, text=True, check=False)
    finally:
        os.close(ours)
        os.close(theirs)


def argv(*words: str) -> list[str]:
    """As a shell starts it."""
    return [sys.executable, "-m", "modelpivot", *words]


def environment(world: World) -> dict[str, str]:
    """Of a command on that host."""
    return {**os.environ, **world.environment, **to_environment(world.host)}


def test_a_pivot_in_two_halves(world: World) -> None:
    """Not staged, the second half is blocked; the first leaves what serves alone; then the second proves again what was staged, and moves to it."""
    name = world.recipe("halves", repo="new", args={"load-s": 0.1})
    code, blocked = command(world, "cutover", name)
    assert (code, blocked.outcome, world.serving) == (3, "blocked", "old") and "modelpivot stage" in world.tell(blocked)
    code, staged = command(world, "stage", name)
    assert (code, staged.outcome, world.serving) == (0, "staged", "old"), world.tell(staged)
    assert read_lock(world.state) is None and read_cutover(world.state) is None
    code, moved = command(world, "cutover", name)
    assert (code, moved.outcome, world.serving) == (0, "promoted", "halves"), world.tell(moved)
    names = [stage.name for stage in moved.stages]
    assert {"download", "install"}.isdisjoint(names)
    assert names.index("check shards") < names.index("check engine") < names.index("serve")


@pytest.mark.parametrize(("answer", "code"), [("n\n", 3), ("y\n", 0)])
def test_a_person_at_a_terminal_is_asked(world: World, answer: str, code: int) -> None:
    """The question is the plan's; a no changes nothing and is what nobody's answer is, a yes goes on. No run is told as failed for it."""
    name = world.recipe("asking", repo="new", args={"trust-remote-code": True, "load-s": 0.2})
    releases, before = len(list_releases(world.state)), {run.id for run in list_runs(world.state)}
    done = answered(world, answer, "stage", name)
    assert done.returncode == code, done.stderr
    assert done.stderr.count("Go on, with a yes to all of it?") == 1 and "run the Python code that acme/new brings" in done.stderr
    assert (len(list_releases(world.state)) > releases) == (code == 0) and world.serving == "old"
    runs = [read_flow_run(report(world.state, run.id)) for run in list_runs(world.state) if run.id not in before]
    assert [run.state.name for run in reversed(runs) if run.state] == (["Asking", "Staged"] if code == 0 else ["Asking"])
    assert not any(run.state.is_failed() for run in runs if run.state) and "✗" not in done.stderr


def test_without_a_terminal_nobody_is_asked(world: World) -> None:
    """Exit 3, and the document holds what a yes would have answered."""
    name = world.recipe("unasked", repo="new", args={"trust-remote-code": True})
    code, blocked = command(world, "stage", name)
    assert (code, blocked.outcome, len(blocked.asks)) == (3, "blocked", 1) and "Python code" in blocked.asks[0]
    run = read_flow_run(blocked)
    assert run.state and run.state.name == "Blocked"
