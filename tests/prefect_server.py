"""A real Prefect server, one a session: a process on a free port, its home in a temporary folder, reached by flows here and in children."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from modelpivot.waiting import wait_for
from tests.ports import free_port

START_S = 300.0


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the API; PREFECT_API_URL and PREFECT_HOME name it in this process and its children while the session lasts."""
    from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings  # heavy, and only needed here

    home = tmp_path_factory.mktemp("prefect")
    with running_server(home, free_port()) as url:
        before = {name: os.environ.get(name) for name in ("PREFECT_API_URL", "PREFECT_HOME")}
        os.environ.update({"PREFECT_API_URL": url, "PREFECT_HOME": str(home)})
        try:
            with temporary_settings({PREFECT_API_URL: url, PREFECT_HOME: home}):
                yield url
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextlib.contextmanager
def running_server(home: Path, port: int) -> Iterator[str]:
    """A server process with its database under `home`, ended with its group."""
    url = f"http://127.0.0.1:{port}/api"
    quiet = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_LOGGING_SERVER_LEVEL": "WARNING", "DO_NOT_TRACK": "1"}
    environment = {**os.environ, **quiet, "PREFECT_HOME": str(home), "PREFECT_SERVER_UI_API_URL": url}
    environment.pop("PREFECT_API_URL", None)
    argv = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(argv, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_for(lambda: answers(url), lambda good, _: good or None, what=f"Prefect server at {url}", deadline_s=START_S)
        yield url
    finally:
        end_group(server, within_s=10)


def end_group(leader: subprocess.Popen[bytes], *, within_s: float) -> None:
    """Tell a process group to end, and kill what has not by then."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        leader.wait(within_s)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)
    leader.wait()


def answers(url: str) -> bool:
    """Whether the API says it is well."""
    try:
        return httpx.get(f"{url}/health", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False
