"""The install stage as a child of a run: told live, logged in full, and ended for real when the run is cancelled."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.errors import CommandFailed
from modelpivot.facts.environments import install_log
from modelpivot.models.event import Event
from modelpivot.recipes import read_recipe
from modelpivot.stages.children import end_children, run_child
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.plan import make_plan
from tests.operations.test_environment import processes_of
from tests.private_index import PrivateIndex, private_index
from tests.standin_wheel import build_wheel
from tests.switching import PATIENCE_S, wait_until
from tests.world import World, make_world

SIZE = 4_000_000
"""Bytes of a package that uv announces before it downloads it."""


@pytest.fixture
def going() -> threading.Event:
    """Set: wheels are sent to their end, as while the resolver reads them."""
    event = threading.Event()
    event.set()
    return event


@pytest.fixture
def slow_index(tmp_path: Path, going: threading.Event) -> Iterator[PrivateIndex]:
    """An index with the stand-in engine and a large package beside it, whose wheels stop in mid-download unless `going`."""
    with private_index(tmp_path / "slow", held=going) as served:
        wheel = build_wheel(tmp_path / "slow/wheels")
        served.publish(wheel)
        served.add("large", "1.0", files={"large.txt": "x" * SIZE})
        yield served
        going.set()


@pytest.fixture
def context(tmp_path: Path, slow_index: PrivateIndex, going: threading.Event, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """A run with its plan made; its packages come from the slow index alone, and stop on the way."""
    world: World = make_world(tmp_path / "world")
    world.recipe("old", engine={"name": "standin", "extra_requirements": ["large"]})
    slow = {"UV_FIND_LINKS": "", "UV_NO_INDEX": "", "UV_DEFAULT_INDEX": slow_index.url}
    for name, value in {**world.environment, **slow}.items():
        monkeypatch.setenv(name, value)
    opened = open_context(world.host, name="old")
    assert make_plan(opened, read_recipe("old")).resolution
    going.clear()
    yield opened
    world.hub.stop()


def test_a_cancelled_install_ends_uv_and_was_told_while_it_ran(context: Context, going: threading.Event) -> None:
    """In mid-download: uv's words have come, the log has them, and seconds after the cancel no process of it is left; the next run ends proved."""
    events: list[Event] = []
    errors: list[CommandFailed] = []

    def follow() -> None:
        try:
            run_child(context, "install", events.append)
        except CommandFailed as error:
            errors.append(error)

    thread = threading.Thread(target=follow)
    thread.start()
    told = wait_until(lambda: [event for event in events if event.kind == "progress"], what="uv to announce the large package")
    path = next(context.host.environments_root.glob("standin-*"))
    assert "Downloading large" in told[0].message and told[0].data["total"]
    assert "Downloading large" in install_log(path).read_text()
    assert any("uv pip sync" in line for line in processes_of(path))
    end_children(context.run)
    thread.join(PATIENCE_S)
    assert not thread.is_alive() and len(errors) == 1
    assert processes_of(path) == []
    going.set()
    again = open_context(context.host, name="again")
    make_plan(again, read_recipe("old"))
    run_child(again, "install", events.append)
    assert events[-1].kind == "finished"
