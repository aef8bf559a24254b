"""What a mirror served: every request with the bytes that went out, so that a test can prove that nothing was fetched twice."""

import threading
import time
from dataclasses import dataclass, field


@dataclass
class Request:
    """One request; `sent` grows while its body goes out."""

    method: str
    place: str
    """api, resolve or body."""
    path: str
    """`org/name/file` for resolve and body, else the path asked for."""
    start: int = 0
    status: int = 0
    sent: int = 0
    has_token: bool = False


@dataclass
class Served:
    """All requests since the start. Safe to use from several threads."""

    requests: list[Request] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, request: Request) -> Request:
        """Remember a request."""
        with self._lock:
            self.requests.append(request)
        return request

    def of(self, path: str, *, place: str = "body", method: str = "GET") -> list[Request]:
        """Requests for one file, oldest first."""
        with self._lock:
            return [each for each in self.requests if each.path == path and each.place == place and each.method == method]

    def bytes_by_file(self) -> dict[str, int]:
        """Body bytes sent by file (`org/name/file`)."""
        totals: dict[str, int] = {}
        with self._lock:
            for request in self.requests:
                if request.place == "body":
                    totals[request.path] = totals.get(request.path, 0) + request.sent
        return totals

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self.requests.clear()


class Pace:
    """At most `rate` bytes a second over all connections; None: as fast as it goes."""

    def __init__(self, rate: float | None) -> None:
        self._rate, self._free_at, self._lock = rate, 0.0, threading.Lock()

    @property
    def chunk_bytes(self) -> int:
        """How much to send between two calls of `wait`."""
        return 8 << 20 if self._rate is None else max(16 << 10, min(1 << 20, int(self._rate / 50)))

    def wait(self, count: int) -> None:
        """Return when `count` more bytes may go out."""
        if self._rate is None:
            return
        with self._lock:
            start = max(self._free_at, time.monotonic())
            self._free_at = start + count / self._rate
        time.sleep(max(0.0, start - time.monotonic()))
