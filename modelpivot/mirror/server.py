"""The two listeners of a mirror: the Hub, and the store of large files on another host name. Runs as a context manager or as a process."""

import contextlib
import socket
import threading
from collections.abc import Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from modelpivot.mirror.catalog import LARGE_BYTES, Catalog
from modelpivot.mirror.faults import Faults
from modelpivot.mirror.links import Links
from modelpivot.mirror.record import Request, Served
from modelpivot.weights.pace import Pace

HUB_ADDRESS, STORE_ADDRESS = "127.0.0.1", "127.0.0.2"
PAGE_SIZE = 1000


class Mirror:
    """A read-only Hub over `root`.

    `gates` names the token that a repository asks for; `max_rate` is in bytes a second; signed links hold `link_s` seconds.
    """

    def __init__(
        self,
        root: Path,
        *,
        port: int = 0,
        faults: Faults | None = None,
        gates: Mapping[str, str] | None = None,
        page_size: int = PAGE_SIZE,
        link_s: float = 3600,
        max_rate: float | None = None,
        large_bytes: int = LARGE_BYTES,
    ) -> None:
        self.catalog = Catalog(root, large_bytes=large_bytes)
        self.faults, self.gates, self.page_size = faults or Faults(), dict(gates or {}), page_size
        self.served, self.pace, self.over = Served(), Pace(max_rate), threading.Event()
        self.links = Links(link_s)
        self._hub, self._store = self._listen(port)
        self.base_url = f"http://{HUB_ADDRESS}:{self._hub.server_port}"
        self.store_url = f"http://{STORE_ADDRESS}:{self._store.server_port}"

    def _listen(self, port: int) -> tuple["_Server", "_Server"]:
        from modelpivot.mirror.handlers import HubHandler, StoreHandler

        hub = _Server((HUB_ADDRESS, port), partial(HubHandler, self))
        return hub, _Server((STORE_ADDRESS, 0), partial(StoreHandler, self))

    def start(self) -> "Mirror":
        """Serve from threads of this process."""
        for server in (self._hub, self._store):
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True, name="mirror").start()
        return self

    def stop(self) -> None:
        """Stop listening, end what waits, and cut open connections."""
        self.over.set()
        for server in (self._hub, self._store):
            server.shutdown()
            server.server_close()
            server.cut_connections()

    def __enter__(self) -> "Mirror":
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection on a thread of its own, and remember it while it is open."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """The connection is over."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        """End those that are kept open: a Hub that is down answers nobody."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class Handler(BaseHTTPRequestHandler):
    """What both listeners share: HTTP/1.1, small pieces at once, silence."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 16 << 10

    def __init__(self, mirror: Mirror, *args: object) -> None:
        self.mirror = mirror
        with contextlib.suppress(ConnectionError):
            super().__init__(*args)  # type: ignore[arg-type]

    def record(self, place: str, path: str) -> Request:
        """Remember this request."""
        agent = self.headers.get("User-Agent", "")
        return self.mirror.served.add(Request(self.command, place, path, has_token="Authorization" in self.headers, agent=agent))

    def log_message(self, *args: object) -> None:
        """Nothing: `Mirror.served` remembers."""

    def finish(self) -> None:
        """A connection that a fault cut is already closed."""
        with contextlib.suppress(OSError, ValueError):
            super().finish()
