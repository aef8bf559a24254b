"""Every test here talks to the session's Prefect server; real flows share one world in which the model `old` serves at first."""

import pytest

from tests.world import served_world

__all__ = ["served_world"]


@pytest.fixture(autouse=True)
def _prefect(prefect_api: str) -> str:
    return prefect_api
