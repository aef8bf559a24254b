"""`modelpivot up` and `down`: everything in place, again and again; nobody gets in without the secret; ended is what was started, no more and no less."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from modelpivot.files import write_model
from modelpivot.host import is_alive, own_process_id, run_command
from modelpivot.models.host import HostConfig
from modelpivot.settings import to_environment
from modelpivot.up.environment import write_environment
from modelpivot.up.places import UpPlaces, up_places
from modelpivot.up.processes import read_process
from modelpivot.up.run import PORT, choose_port, find_holder
from tests.ports import free_port
from tests.postgresql import postgresql_url
from tests.switching import wait_until
from tests.up.conftest import Upped

__all__ = ["postgresql_url"]


def test_up_again_changes_nothing_and_says_how_to_log_in(upped: Upped) -> None:
    """The same processes, every line says that its thing is there; in the end the address and the file with the secret, which is not printed."""
    before = upped.process("server"), upped.process("worker")
    upped.shorten()
    result = upped.up()
    told = result.stderr.splitlines()
    assert f"http://127.0.0.1:{upped.port}" in result.stdout and str(upped.places.auth) in result.stdout
    assert upped.secret.partition(":")[2] not in result.stdout + result.stderr
    assert (upped.process("server"), upped.process("worker")) == before
    assert not [line for line in told if line.endswith((": made", ": changed")) or "starting" in line or "tells nobody" in line]
    assert [line for line in told if line.startswith("automation")]


def test_nobody_gets_in_without_the_secret(upped: Upped) -> None:
    """401 without it and with another one, an answer with it."""
    user, _, secret = upped.secret.partition(":")

    def ask(auth: tuple[str, str] | None) -> int:
        return httpx.post(f"{upped.url}/flows/filter", json={}, auth=auth).status_code

    assert [ask(None), ask((user, "wrong")), ask((user, secret))] == [401, 401, 200]


@pytest.fixture
def host(tmp_path: Path) -> HostConfig:
    """A host on which nothing was ever started."""
    return HostConfig(name="other", state_dir=tmp_path / "state", weights_root=tmp_path / "w", environments_root=tmp_path / "e")


def words(*words: str) -> list[str]:
    """A command of ours."""
    return [sys.executable, "-m", "modelpivot", *words]


def test_a_stranger_on_the_port_is_named_and_left_alone(host: HostConfig) -> None:
    """Exit 3, with the number and command of the process; it still answers afterwards, and nothing was started or written."""
    port = free_port()
    with subprocess.Popen([sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"], stderr=subprocess.DEVNULL) as stranger:
        try:
            wait_until(lambda: is_open(port), what="the stranger")
            result = run_command(words("up", "--port", str(port)), timeout_s=120, env=os.environ | to_environment(host), is_checked=False)
            assert result.returncode == 3 and f"process {stranger.pid}" in result.stderr and "http.server" in result.stderr
            assert is_open(port) and not up_places(host).server_env.exists()
        finally:
            stranger.kill()


def test_where_nobody_asked_for_a_port_the_next_free_one_is_taken() -> None:
    """As after a demo, whose server has 4200: who is there is named, and passed by."""
    told: list[str] = []
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # somebody else has it: as good
            stranger.bind(("127.0.0.1", PORT))
            stranger.listen()
        port = choose_port("127.0.0.1", None, told.append)
    assert port > PORT and not find_holder("127.0.0.1", port)
    assert len(told) == 1 and f"port {PORT} is taken by process" in told[0]


def is_open(port: int) -> bool:
    """Whether somebody answers there."""
    try:
        httpx.get(f"http://127.0.0.1:{port}/", timeout=2)
    except httpx.HTTPError:
        return False
    return True


ASKED = {
    ("--port", "1"): "--port 1 (it has 4207)",
    ("--listen", "0.0.0.0"): "--listen 0.0.0.0 (it has 127.0.0.1)",
    ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql://user:planted-word@other/db"): "PREFECT_SERVER_DATABASE_CONNECTION_URL (it has",
}


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked[0])
def test_what_a_server_that_runs_does_not_take_is_said(host: HostConfig, asked: tuple[str, str]) -> None:
    """3, the word with what it has, and `modelpivot down` first; no file was written anew, and no address of a database is shown."""
    places = up_places(host)
    write_environment(places, listen="127.0.0.1", port=4207, database=None)
    write_model(places.process("server"), own_process_id())
    before = {path: path.read_bytes() for path in places.root.iterdir()}
    option, variable = (asked, ()) if asked[0].startswith("--") else ((), asked)
    environment = os.environ | to_environment(host) | (dict([variable]) if variable else {})
    result = run_command(words("up", *option), timeout_s=120, env=environment, is_checked=False)
    assert (result.returncode, result.stdout) == (3, "") and ASKED[asked] in result.stderr and "modelpivot down" in result.stderr
    assert "planted-word" not in result.stderr
    assert {path: path.read_bytes() for path in before} == before and not places.process("worker").exists()


def test_down_ends_what_a_killed_up_had_started(host: HostConfig) -> None:
    """SIGKILL to `up` as soon as its server is there: the server lives, `down` ends exactly that one, and a second `down` finds nothing."""
    places = up_places(host)
    environment = os.environ | to_environment(host)
    with subprocess.Popen(
        words("up", "--port", str(free_port())), env=environment, start_new_session=True, stderr=subprocess.DEVNULL
    ) as command:
        server = wait_until(lambda: read_process(places, "server"), what="the server's process", deadline_s=120)
        os.kill(command.pid, signal.SIGKILL)
    assert is_alive(server)
    assert run_command(words("down"), timeout_s=120, env=environment).stdout.strip() == f"ended the server (process {server.pid})"
    assert not is_alive(server) and not read_process(places, "server")
    assert run_command(words("down"), timeout_s=120, env=environment).stdout.startswith("nothing that `modelpivot up` started runs (by ")


@pytest.mark.long
@pytest.mark.prefect
def test_up_on_a_postgresql(host: HostConfig, postgresql_url: str) -> None:
    """The address is told once: server, deployments and alerts lie in that database, no file of SQLite is made, and the next `up` still knows it."""
    places, port = up_places(host), free_port()
    environment = os.environ | to_environment(host)
    try:
        told = environment | {"PREFECT_SERVER_DATABASE_CONNECTION_URL": postgresql_url}
        run_command(words("up", "--port", str(port)), timeout_s=400, env=told)
        run_command(words("down"), timeout_s=120, env=environment)
        run_command(words("up", "--port", str(port)), timeout_s=400, env=environment)
        user, _, secret = places.auth.read_text().strip().partition(":")
        found = httpx.post(f"http://127.0.0.1:{port}/api/automations/count", json={}, auth=(user, secret)).json()
        assert found >= 8 and not list(places.home.glob("*.db"))
    finally:
        run_command(words("down"), timeout_s=120, env=environment)


def test_down_does_not_end_a_process_that_has_the_number_now(host: HostConfig) -> None:
    """A record whose start time is another one's: the process with that number is not ours."""
    places = up_places(host)
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as innocent:
        write_record(places, innocent.pid)
        try:
            assert "nothing" in run_command(words("down"), timeout_s=120, env=os.environ | to_environment(host)).stdout
            assert innocent.poll() is None
        finally:
            innocent.kill()


def write_record(places: UpPlaces, pid: int) -> None:
    """A server's record with this number and another start."""
    from modelpivot.host import read_process_id

    process = read_process_id(pid)
    assert process is not None
    write_model(places.process("server"), process.model_copy(update={"start_time": process.start_time - 1}))
