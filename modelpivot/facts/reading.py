"""One part of the facts read on a thread of its own, so that a part that hangs (a dead network file system, a wedged driver) holds nothing up."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from modelpivot.errors import PivotError
from modelpivot.models.frozen import Unread

T = TypeVar("T")


class Reading(Generic[T]):
    """Begins at once; `result` waits for it. What cannot be read is Unread; an error of our own making is raised where the result is asked for."""

    def __init__(self, what: str, read: Callable[[], T]) -> None:
        self._what, self._read = what, read
        self._result: T | Unread
        self._bug: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"read-{what}")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._read()
        except (PivotError, OSError) as error:
            self._result = Unread(unread=f"{self._what}: {error}")
        except BaseException as error:  # noqa: BLE001 - carried to the thread that asks
            self._bug = error

    def result(self, until: float) -> T | Unread:
        """What was read; Unread when it is not there at `until` (time.monotonic())."""
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._bug is not None:
            raise self._bug
        if self._thread.is_alive():
            return Unread(unread=f"{self._what}: no answer in time; something hangs (a network file system, a driver)")
        return self._result
