"""`modelpivot up` and `down`: server with authentication, worker, and `python -m deployments.apply` against it. Both may be run at any time.

Only what stands in `<state>/prefect/*.process`, by number and start time, is found again and ended; a server of somebody else is named. Where units of
systemd are server and worker, `up` only puts everything in place there.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import httpx
from pydantic import Field

from modelpivot.errors import PreconditionError
from modelpivot.facts.services import read_listeners
from modelpivot.host import is_alive, read_process_id, run_attached
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.host import HostConfig
from modelpivot.settings import to_environment
from modelpivot.up.environment import DATABASE, read_variables, told, with_driver, write_environment
from modelpivot.up.own_units import are_in_charge, read_own_units
from modelpivot.up.places import UNITS, UpPlaces
from modelpivot.up.processes import alone, end, read_process, start
from modelpivot.waiting import WaitedTooLong, wait_for

PROJECT = Path(__file__).resolve().parents[2]
POOL = "gpu-hosts"
PORT = 4200
ADDRESS = "127.0.0.1"
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
    server: ProcessId | None
    """None: a unit between two starts."""
    worker: ProcessId | None
    """None: a unit between two starts."""
    units: list[str] = Field(default_factory=list)
    """Units of systemd that server and worker are; empty: processes that `up` started."""


def up(host: HostConfig, places: UpPlaces, listen: Listen, *, address: str | None, port: int | None, database: str | None) -> Up:
    """Everything running and in place; what is there already is left as it is.

    PreconditionError, before anything is changed: a stranger has the port that was asked for, a server that runs has another address, port or
    database than what is asked for (None: nothing was), or units of systemd are server and worker, and one of them is down.
    """
    with alone(places):
        if are_in_charge(read_own_units(places)):
            require_as_asked(places, address, port, database, mend="modelpivot up --units with these words, then restart the units")
            return _put_in_place_for_units(places, listen)
        if read_process(places, "server"):
            require_as_asked(places, address, port, database, mend="modelpivot down first, then this again")
        else:
            at = address or ADDRESS
            write_environment(places, listen=at, port=choose_port(at, port, listen), database=database)
        server = _ensure_server(places, listen)
        _wait_until_up(places, partial(is_alive, server), f"its log: {places.log('server')}")
        _put_in_place(_client(host, places), listen)
        worker = _ensure_worker(host, places, listen)
    return _made(places, server, worker)


def _put_in_place_for_units(places: UpPlaces, listen: Listen) -> Up:
    """Blocks, deployments and alerts, as the worker's unit does it before it starts."""
    names = list(UNITS.values())
    listen(f"server and worker are units of systemd ({', '.join(names)}): nothing is started and no file of theirs is written")
    _wait_until_up(places, lambda: True, f"journalctl --unit {names[0]}")
    _put_in_place({**told(places, places.client_env), **read_variables(places.client_env), "PYTHONPATH": str(PROJECT)}, listen)
    units = read_own_units(places)
    server, worker = (read_process_id(units[role].main_pid) if role in units else None for role in UNITS)
    return _made(places, server, worker, names)


def _made(places: UpPlaces, server: ProcessId | None, worker: ProcessId | None, units: Sequence[str] = ()) -> Up:
    url = read_variables(places.server_env)["PREFECT_UI_URL"]
    return Up(url=url, login=places.auth, environment=places.client_env, server=server, worker=worker, units=list(units))


def require_as_asked(places: UpPlaces, address: str | None, port: int | None, database: str | None, *, mend: str) -> None:
    """PreconditionError names every word that the server, which runs, was started without. None: nothing was asked for."""
    known = read_variables(places.server_env)
    asked = {"--port": (port, "PREFECT_SERVER_API_PORT"), "--listen": (address, "PREFECT_SERVER_API_HOST")}
    refused = [
        f"{word} {it} (it has {known.get(name)})" for word, (it, name) in asked.items() if it is not None and str(it) != known.get(name)
    ]
    if database and with_driver(database) != known.get(DATABASE):
        refused.append(f"{DATABASE} (it has another database)")
    if refused:
        raise PreconditionError(f"the Prefect server runs already and does not take {', '.join(refused)}; nothing was changed", hint=mend)


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


def _put_in_place(environment: Mapping[str, str], listen: Listen) -> None:
    run_attached([sys.executable, "-m", "deployments.apply"], timeout_s=APPLY_DEADLINE_S, env=environment, listen=listen, cwd=PROJECT)


def _wait_until_up(places: UpPlaces, is_running: Callable[[], bool], look: str) -> None:
    url = read_variables(places.client_env)["PREFECT_API_URL"]

    def judge(is_up: bool, _waited_s: float) -> bool | None:
        if not is_running():
            raise PreconditionError("the Prefect server ended while starting", hint=look)
        return is_up or None

    try:
        wait_for(lambda: _answers(f"{url}/health"), judge, what="the Prefect server", deadline_s=SERVER_DEADLINE_S)
    except WaitedTooLong as error:
        message = f"the Prefect server at {url}: expected an answer within {SERVER_DEADLINE_S:.0f} s, found none"
        raise PreconditionError(message, hint=look) from error


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
