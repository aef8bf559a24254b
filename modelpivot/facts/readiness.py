"""How far an engine is: a ladder from its process to a generated answer, and what its log says. Reads only."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from modelpivot.facts.endpoint import ask, read_generates
from modelpivot.facts.services import read_listeners
from modelpivot.models.cutover import ProcessId
from modelpivot.models.facts import Listener
from modelpivot.models.frozen import Unread
from modelpivot.models.readiness import Readiness
from modelpivot.models.release import Endpoint, Release
from modelpivot.state.asked import ask_counted

HEALTH_S = 5.0
LEAST_GENERATION_S = 30.0
"""Seconds for one short generation, or `probe_s` where that is more: the first one after a start may compile kernels."""
PAUSE_S = 0.15


def read_ready(release: Release, key: str | None, processes: Callable[[], list[ProcessId]], *, asked: Path | None = None) -> Readiness:
    """The whole ladder once: port, owner of the port, /health, /v1/models, one generation. May take as long as the engine takes to answer.

    `asked`: where what we ask of this engine is counted (state/asked.py).
    """
    endpoint = release.endpoint
    health = ask(endpoint, "/health", timeout_s=HEALTH_S)
    if health.is_refused:
        return Readiness(missing="port", found=f"nobody listens on port {endpoint.port}")
    if owner := _read_wrong_owner(endpoint.port, processes()):
        return Readiness(missing="port", found=owner)
    if health.status != 200:
        return Readiness(missing="health", found=str(health))
    if listed := _read_not_listed(endpoint, key):
        return Readiness(missing="models", found=listed)
    timeout_s = max(LEAST_GENERATION_S, release.deadlines.probe_s)
    problem = ask_counted(asked, lambda: read_generates(endpoint, key=key, timeout_s=timeout_s))
    return Readiness(missing="generation" if problem else None, found=problem)


def _read_wrong_owner(port: int, own: list[ProcessId]) -> str:
    """Empty when only the unit's own processes listen on the port; otherwise who does."""
    listeners = read_listeners()
    if isinstance(listeners, Unread):
        return f"who listens on port {port} is {listeners}"
    pids = {process.pid for process in own}
    strangers = [listener for listener in listeners if listener.port == port and listener.pid not in pids]
    return f"port {port} is held by {name_listener(strangers[0])}" if strangers else ""


def name_listener(listener: Listener) -> str:
    """A listener for a person: number and command line, as far as this user may see them."""
    if listener.pid is None:
        return "a process of another user"
    return f"process {listener.pid} ({listener.command or 'unknown command'})"


def _read_not_listed(endpoint: Endpoint, key: str | None) -> str:
    reply = ask(endpoint, "/v1/models", key=key, timeout_s=HEALTH_S)
    if reply.status == 401:
        return (
            f"the engine refuses the API key of {endpoint.api_key_file}" if key else "the engine asks for an API key, the release has none"
        )
    names = [entry.get("id") for entry in _entries(reply.body) if isinstance(entry, dict)]
    return "" if endpoint.served_name in names else f"expected {endpoint.served_name} in /v1/models, found {names or reply}"


def _entries(body: object) -> list[object]:
    data = body.get("data") if isinstance(body, dict) else None
    return data if isinstance(data, list) else []


class Ladder:
    """Climbs the ladder over and over on a thread of its own, so that a request that hangs hides nothing from who looks at `last`.

    A climb that fails (a supervisor that does not answer, no descriptor left) is one rung that does not hold, and the next one is begun all the same.
    """

    def __init__(self, climb: Callable[[], Readiness], *, pause_s: float = PAUSE_S) -> None:
        self.last = Readiness(missing="port", found="not looked at yet")
        self.last_ready_at: float | None = None
        """time.monotonic() of the last time every rung held."""
        self._climb, self._pause_s, self._is_closed = climb, pause_s, threading.Event()
        threading.Thread(target=self._run, daemon=True, name="ladder").start()

    def _run(self) -> None:
        while not self._is_closed.is_set():
            last = self._look()
            if last.is_ready:
                self.last_ready_at = time.monotonic()
            self.last = last
            self._is_closed.wait(self._pause_s)

    def _look(self) -> Readiness:
        try:
            return self._climb()
        except Exception as error:  # noqa: BLE001 - whatever it is, it says nothing about the engine
            return Readiness(missing=self.last.missing or "port", found=f"it could not be looked at: {getattr(error, 'message', error)}")

    def close(self) -> None:
        """Climb no more; a request under way ends by its own timeout."""
        self._is_closed.set()
