"""What the tests of stages share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stages.deciding import Desk
from tests.stages.fake_gpu import fake_gpu
from tests.switching import switch_host
from tests.world import make_world

__all__ = ["desk", "fake_gpu", "switch_host"]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A run in a world of its own: a Hub on loopback, a folder of wheels, one host."""
    world = make_world(tmp_path)
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    yield Desk(world)
    world.hub.stop()
