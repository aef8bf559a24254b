"""`modelpivot up` and `down`: server with authentication, worker, and `python -m deployments.apply` against it. Both may be run at any time.

Only what stands in `<state>/prefect/*.process`, by number and start time, is found again and ended; a server of somebody else is named.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import httpx

from modelpivot.errors import PreconditionError
from modelpivot.facts.services import read_listeners
from modelpivot.host import is_alive, run_attached
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.host import HostConfig
from modelpivot.settings import to_environment
from modelpivot.up.environment import read_variables, told, write_environment
from modelpivot.up.places import UpPlaces
from modelpivot.up.processes import alone, end, read_process, start
from modelpivot.waiting import WaitedTooLong, wait_for

PROJECT = Path(__file__).resolve().parents[2]
POOL = "gpu-hosts"
PORT = 4200
TRIED = 50
"""Ports above that are looked at when nobody asked for one."""
SERVER_DEADLINE_S = 180.0
APPLY_DEADLINE_S = 600.0
Listen = Callable[[str], None]


class Up(Frozen):
    """What `up` left running."""

    url: str
    """Of the UI."""
    login: Path
    """File with user and secret."""
    environment: Path
    """File with the variables for commands and workers elsewhere on this machine."""
    server: ProcessId
    worker: ProcessId


def up(host: HostConfig, places: UpPlaces, listen: Listen, *, address: str, port: int | None, database: str | None) -> Up:
    """Everything running and in place; what is there already is left as it is. PreconditionError when a stranger has the port that was asked for."""
    with alone(places):
        if read_process(places, "server") is None:
            write_environment(places, listen=address, port=choose_port(address, port, listen), database=database)
        server = _ensure_server(places, listen)
        _wait_until_up(places, server)
        run_attached(
            [sys.executable, "-m", "deployments.apply"], timeout_s=APPLY_DEADLINE_S, env=_client(host, places), listen=listen, cwd=PROJECT
        )
        worker = _ensure_worker(host, places, listen)
    url = read_variables(places.server_env)["PREFECT_UI_URL"]
    return Up(url=url, login=places.auth, environment=places.client_env, server=server, worker=worker)


def down(places: UpPlaces) -> list[str]:
    """End worker and server, in this order, so that the runs' last words arrive; what was ended, in words. Files stay."""
    if not places.root.is_dir():
        return []
    with alone(places):
        ended = [(role, end(places, role)) for role in ("worker", "server")]
    return [f"the {role} (process {process.pid})" for role, process in ended if process]


def choose_port(address: str, asked: int | None, listen: Listen) -> int:
    """The port that was asked for; unasked, 4200 or the first free one above. A server that we did not start is never touched, nor used.

    PreconditionError names who listens there.
    """
    tried = range(PORT, PORT + TRIED) if asked is None else [asked]
    holder = find_holder(address, tried[0])
    if not holder:
        return tried[0]
    for port in tried[1:]:
        if not find_holder(address, port):
            listen(f"port {tried[0]} is taken by {holder}: the Prefect server comes to port {port}")
            return port
    raise PreconditionError(
        f"port {tried[0]}: expected a free one for the Prefect server, found {holder}; it was not started by `modelpivot up` here",
        hint="name another port (--port), or end that server yourself",
    )


def find_holder(address: str, port: int) -> str:
    """Who listens there; empty: nobody, or nobody knows."""
    listeners = read_listeners()
    for listener in [] if isinstance(listeners, Unread) else listeners:
        if listener.port == port and ({listener.address, address} & {"0.0.0.0", "::"} or listener.address == address):
            return f"process {listener.pid} ({listener.command or 'unknown'})" if listener.pid else "a process of another user"
    return ""


def _ensure_server(places: UpPlaces, listen: Listen) -> ProcessId:
    if server := read_process(places, "server"):
        return server
    places.home.mkdir(parents=True, exist_ok=True)
    listen("starting the Prefect server")
    argv = [sys.executable, "-m", "prefect", "server", "start"]
    return start(places, "server", argv, env=told(places, places.server_env), cwd=places.home)


def _ensure_worker(host: HostConfig, places: UpPlaces, listen: Listen) -> ProcessId:
    if worker := read_process(places, "worker"):
        return worker
    listen(f"starting the worker {host.name} of the pool {POOL}")
    argv = [
        sys.executable,
        "-m",
        "prefect",
        "worker",
        "start",
        "--pool",
        POOL,
        "--type",
        "process",
        "--name",
        host.name,
        *queue_words(host),
    ]
    return start(places, "worker", argv, env=_client(host, places), cwd=places.home)


def queue_words(host: HostConfig) -> list[str]:
    """What a worker is told to poll: what is for any host, and its own; all there is, where the host has no name."""
    return ["--work-queue", "default", "--work-queue", host.queue] if host.queue else []


def _client(host: HostConfig, places: UpPlaces) -> dict[str, str]:
    return {**told(places, places.client_env), **to_environment(host), "PYTHONPATH": str(PROJECT)}


def _wait_until_up(places: UpPlaces, server: ProcessId) -> None:
    url, log = read_variables(places.client_env)["PREFECT_API_URL"], places.log("server")

    def judge(is_up: bool, _waited_s: float) -> bool | None:
        if not is_alive(server):
            raise PreconditionError("the Prefect server ended while starting", hint=f"its log: {log}")
        return is_up or None

    try:
        wait_for(lambda: _answers(f"{url}/health"), judge, what="the Prefect server", deadline_s=SERVER_DEADLINE_S)
    except WaitedTooLong as error:
        raise PreconditionError(
            f"the Prefect server at {url}: expected an answer within {SERVER_DEADLINE_S:.0f} s, found none", hint=f"its log: {log}"
        ) from error


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
