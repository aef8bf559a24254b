"""What a mirror served: every request with the bytes that went out, so that a test can prove that nothing was fetched twice."""

import threading
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
    agent: str = ""
    """Who asked, as it names itself."""


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
