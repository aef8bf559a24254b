"""Faults that can be switched on, by place, path and number of times: each is something a real Hub, its store or the way to it does."""

import threading
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen

Place = Literal["api", "resolve", "body"]
FaultKind = Literal[
    "status",
    "flip",
    "reset",
    "close",
    "stall",
    "truncate",
    "wrong_range",
    "ignore_range",
    "gzip",
    "pointer",
    "error_page",
    "empty",
    "expired_link",
    "dead_link",
    "wrong_commit",
    "trickle",
]

STATUS_HEADERS: dict[str, tuple[int, dict[str, str]]] = {
    "gated": (403, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to this repository is restricted"}),
    "no_credentials": (401, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to this repository is restricted, log in"}),
    "bad_credentials": (401, {"X-Error-Message": "Invalid credentials in Authorization header"}),
    "no_repo": (404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}),
    "no_revision": (404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"}),
    "no_entry": (404, {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"}),
    "link_expired": (403, {"X-Error-Message": "Request has expired"}),
}
"""Answers of the Hub by the word this project has for them."""


class Fault(Frozen):
    """One fault. It acts `times` times (None: always) on requests of its place whose path fits the glob."""

    kind: FaultKind
    place: Place = "body"
    path: str = "*"
    times: int | None = 1
    at: float = Field(default=0.5, ge=0, le=1)
    """Where in the answered bytes: 0.6 is after 60 % of them."""
    status: int = 503
    headers: dict[str, str] = Field(default_factory=dict)
    seconds: float = 3600
    """stall: how long nothing comes; trickle: pause after every 64 bytes."""


class Faults:
    """The faults that are switched on. Safe to use from several threads."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self._waiting = [(fault, fault.times) for fault in faults]

    def add(self, fault: Fault) -> None:
        """Switch a fault on."""
        with self._lock:
            self._waiting.append((fault, fault.times))

    def clear(self) -> None:
        """Switch all faults off."""
        with self._lock:
            self._waiting.clear()

    def take(self, place: Place, path: str) -> Fault | None:
        """The first fault that acts on this request, used up by one; None: none does."""
        with self._lock:
            for number, (fault, left) in enumerate(self._waiting):
                if fault.place == place and left != 0 and fnmatchcase(path, fault.path):
                    self._waiting[number] = (fault, None if left is None else left - 1)
                    return fault
        return None

    def left(self) -> int:
        """How many times switched-on faults will still act; those without end count once."""
        with self._lock:
            return sum(1 if left is None else left for _, left in self._waiting)


def answer_fault(word: str, *, place: Place = "resolve", path: str = "*", times: int | None = None) -> Fault:
    """A fault that answers with one of STATUS_HEADERS."""
    status, headers = STATUS_HEADERS[word]
    return Fault(kind="status", place=place, path=path, times=times, status=status, headers=headers)
