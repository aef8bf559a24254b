"""Every test here talks to the session's Prefect server."""

import pytest


@pytest.fixture(autouse=True)
def _prefect(prefect_api: str) -> str:
    return prefect_api
