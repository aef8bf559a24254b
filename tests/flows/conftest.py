"""Every test here talks to the session's Prefect server; real flows share one world, in which the model `old` serves when a test begins."""

import pytest

from tests.world import World, served_world

__all__ = ["served_world"]


@pytest.fixture(autouse=True)
def _prefect(prefect_api: str) -> str:
    return prefect_api


@pytest.fixture
def world(served_world: World) -> World:
    """The shared world; a test that left another model serving has it exchanged by a pivot, which proves again what a test wrote to."""
    if served_world.serving != "old":
        result = served_world.pivot("old")
        assert result.outcome == "promoted", served_world.tell(result)
    return served_world
