"""Every test here talks to the session's Prefect server."""

import pytest

from tests.deployed import deployed, old_serves, worker

__all__ = ["deployed", "old_serves", "worker"]


@pytest.fixture(autouse=True)
def _prefect(prefect_api: str) -> str:
    return prefect_api
