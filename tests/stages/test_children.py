"""Install and download in children: they do their work, tell it, keep the class of their errors, and never outlive their run."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.files import read_model, write_model
from modelpivot.host import is_alive
from modelpivot.models.cutover import ProcessId
from modelpivot.models.event import Event
from modelpivot.models.plan import Plan
from modelpivot.recipes import read_recipe
from modelpivot.stages.children import STAGES, end_children, run_child
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.plan import make_plan
from modelpivot.weights.pace import Pace
from tests.switching import PATIENCE_S, wait_until
from tests.world import PROJECT, World, make_world

SLOW = 60_000.0
"""Bytes a second: the download of half a megabyte lasts long enough to be ended."""
PARENT = """
import sys
from modelpivot.settings import read_host_config
from modelpivot.stages.children import run_child
from modelpivot.stages.context import open_context
run_child(open_context(read_host_config(), run_id=sys.argv[1]), "fetch", lambda event: None)
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = make_world(tmp_path, shard_bytes=500_000)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    yield made
    made.hub.stop()


@pytest.fixture
def context(world: World) -> Context:
    """A run with its plan made."""
    opened = open_context(world.host, name="old")
    make_plan(opened, read_recipe("old"))
    return opened


class Heard:
    """A listener that remembers what it heard, and on which threads."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.threads: set[int] = set()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self.threads.add(threading.get_ident())


def wait_for_child(context: Context, name: str) -> ProcessId:
    """The child's process once it has told something."""
    path = context.run.root / "children" / f"{name}.pid"
    wait_until(lambda: "download" in (context.run.events.read_text()), what="the child to tell something")
    return wait_until(lambda: read_model(path, ProcessId), what="its number")


def test_children_do_the_work_and_hand_on_their_events_on_the_callers_thread(context: Context) -> None:
    """Environment and weights are there afterwards; every event of the stage was heard, in order, on this thread, and nothing of the other's."""
    for name, stage in STAGES.items():
        heard = Heard()
        run_child(context, name, heard)
        assert heard.events[0].kind == "started" and heard.events[-1].kind == "finished"
        assert {event.stage for event in heard.events} == {stage} and heard.threads == {threading.get_ident()}
    plan = read_model(context.run.plan, Plan)
    assert plan and plan.candidate and plan.candidate.environment_dir.exists() and context.run.verified.exists()
    assert not list((context.run.root / "children").glob("*.pid"))


def test_an_error_keeps_its_class_its_words_and_its_hint(context: Context) -> None:
    """What the stage raised in the child is raised here, and told as the stage's failure."""
    plan = read_model(context.run.plan, Plan)
    assert plan is not None
    write_model(context.run.plan, plan.model_copy(update={"resolution": None}))
    heard = Heard()
    with pytest.raises(PreconditionError) as caught:
        run_child(context, "install", heard)
    assert "no exact versions" in caught.value.message and "modelpivot plan" in caught.value.hint
    assert heard.events[-1].kind == "failed"


def test_a_killed_child_is_named_with_its_signal(world: World, context: Context) -> None:
    """A child that ends without a word is a CommandFailed that says how; what it fetched stays for the next run."""
    world.hub.pace = Pace(SLOW)
    thread = threading.Thread(target=lambda: os.kill(wait_for_child(context, "fetch").pid, signal.SIGKILL))
    thread.start()
    with pytest.raises(CommandFailed, match="signal 9"):
        run_child(context, "fetch", lambda _: None)
    thread.join()


def test_an_interrupted_caller_ends_the_child(world: World, context: Context) -> None:
    """Whatever ends run_child early ends the child: nothing of it lives when the call returns."""
    world.hub.pace = Pace(SLOW)
    seen: list[ProcessId] = []

    def interrupt(_: Event) -> None:
        seen.append(wait_for_child(context, "fetch"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_child(context, "fetch", interrupt)
    assert seen and not is_alive(seen[0])


def test_children_are_ended_from_another_thread_and_none_starts_after(world: World, context: Context) -> None:
    """end_children ends what a task's thread follows, in mid-download; a thread that comes late starts nothing."""
    world.hub.pace = Pace(SLOW)
    errors: list[CommandFailed] = []

    def follow() -> None:
        try:
            run_child(context, "fetch", lambda _: None)
        except CommandFailed as error:
            errors.append(error)

    thread = threading.Thread(target=follow)
    thread.start()
    process = wait_for_child(context, "fetch")
    end_children(context.run)
    thread.join(PATIENCE_S)
    assert not thread.is_alive() and not is_alive(process)
    assert len(errors) == 1
    with pytest.raises(CommandFailed, match="is ending"):
        run_child(context, "install", lambda _: None)


def test_a_child_ends_with_a_parent_that_is_killed(world: World, context: Context) -> None:
    """SIGKILL of the run's process takes the child with it: the lifeline, not a handler, ends it."""
    world.hub.pace = Pace(SLOW)
    parent = subprocess.Popen([sys.executable, "-c", PARENT, context.run.id], cwd=PROJECT, start_new_session=True)
    process = wait_for_child(context, "fetch")
    parent.kill()
    parent.wait()
    wait_until(lambda: not is_alive(process), what="the child to end")
