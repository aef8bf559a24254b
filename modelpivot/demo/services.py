"""The demo's two services, a Prefect server and a local Hub: detached, started once, found again, ended by --stop."""

import os
import signal
import sys
from pathlib import Path

import httpx

from modelpivot.demo.places import DEMO_PORT, DemoPlaces
from modelpivot.demo.ports import free_port
from modelpivot.errors import PreconditionError
from modelpivot.files import read_model, write_model
from modelpivot.host import is_alive, kill_group, spawn_detached
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.waiting import WaitedTooLong, wait_for

SERVER_DEADLINE_S = 120.0
HUB_DEADLINE_S = 30.0
SIGTERM_GRACE_S = 10.0


class Service(Frozen):
    """A process of the demo and where it answers."""

    process: ProcessId | None
    """None: it was there before (PREFECT_API_URL), and is not ours to end."""
    url: str


class Running(Frozen):
    """What runs of the demo (`running.json`)."""

    prefect: Service | None = None
    hub: Service | None = None
    engine_port: int = DEMO_PORT


def read_running(places: DemoPlaces) -> Running:
    """What runs; services whose process is gone are left out."""
    known = read_model(places.running, Running) or Running()
    return known.model_copy(update={name: _if_alive(getattr(known, name)) for name in ("prefect", "hub")})


def _if_alive(service: Service | None) -> Service | None:
    return service if service and service.process and is_alive(service.process) else None


def remember(places: DemoPlaces, **changes: object) -> Running:
    """Write what runs, with these changes."""
    running = read_running(places).model_copy(update=changes)
    write_model(places.running, running)
    return running


def start_prefect(places: DemoPlaces) -> Service:
    """Start the demo's Prefect server without waiting for it; nothing to do when it runs, or PREFECT_API_URL names one."""
    if url := os.environ.get("PREFECT_API_URL"):
        return Service(process=None, url=url)
    if running := read_running(places).prefect:
        return running
    port = free_port(4200)
    url = f"http://127.0.0.1:{port}/api"
    argv = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    process = spawn_detached(argv, env={**os.environ, **prefect_environment(places, url)}, log=places.log("prefect"), cwd=places.root)
    service = Service(process=process, url=url)
    remember(places, prefect=service)
    return service


def prefect_environment(places: DemoPlaces, url: str) -> dict[str, str]:
    """Variables for the server and everything that talks to it."""
    ours = {} if os.environ.get("PREFECT_API_URL") else {"PREFECT_HOME": str(places.prefect_home)}
    return {**ours, "PREFECT_API_URL": url, "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}


def wait_for_prefect(places: DemoPlaces, service: Service) -> None:
    """Until our server answers; one that was there before has answered already. PreconditionError with its log when it does not."""
    if service.process:
        _wait_until_up(service, f"{service.url}/health", SERVER_DEADLINE_S, "the Prefect server", places.log("prefect"))


def ensure_hub(places: DemoPlaces) -> Service:
    """The local Hub over `.demo/hub`, answering; nothing to do when it runs."""
    if running := read_running(places).hub:
        return running
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    places.hub.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "modelpivot.mirror", str(places.hub), "--port", str(port)]
    process = spawn_detached(argv, env=dict(os.environ), log=places.log("hub"), cwd=places.root)
    service = Service(process=process, url=url)
    remember(places, hub=service)
    _wait_until_up(service, f"{url}/api/models/demo/none", HUB_DEADLINE_S, "the local Hub", places.log("hub"))
    return service


def _wait_until_up(service: Service, url: str, deadline_s: float, what: str, log: Path) -> None:
    def judge(is_up: bool, _waited_s: float) -> bool | None:
        if service.process and not is_alive(service.process):
            raise PreconditionError(f"{what} ended while starting: {_last_line(log)}", hint=f"its log: {log}")
        return is_up or None

    try:
        wait_for(lambda: _answers(url), judge, what=what, deadline_s=deadline_s)
    except WaitedTooLong as error:
        raise PreconditionError(
            f"{what} at {service.url}: expected an answer within {deadline_s:.0f} s, found none", hint=f"its log: {log}"
        ) from error


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code < 500
    except httpx.HTTPError:
        return False


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else "no output"


def stop_service(service: Service | None) -> None:
    """End a service of ours; nothing to do when it is gone or was not ours."""
    if service is None or service.process is None or not is_alive(service.process):
        return
    end_group(service.process)


def end_group(leader: ProcessId) -> None:
    """SIGTERM to a process group, SIGKILL when its leader lives on after ten seconds."""
    kill_group(leader.pid, signal.SIGTERM)
    try:
        wait_for(lambda: is_alive(leader), lambda alive, _: None if alive else True, what="its end", deadline_s=SIGTERM_GRACE_S)
    except WaitedTooLong:
        kill_group(leader.pid)
