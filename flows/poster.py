"""Hands artifacts to Prefect on a thread of its own, in the context of the run that made them: an API that is away holds no stage up.

Of calls with the same key that wait, only the newest is made.
"""

import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import partial

import httpx
from prefect.exceptions import PrefectException

API_AWAY = (httpx.HTTPError, PrefectException, RuntimeError)
"""What the client raises when the API does not answer or refuses; RuntimeError is its word for an address that cannot be reached."""


class Poster:
    """One thread, started with the first call."""

    def __init__(self) -> None:
        self._calls: dict[str, Callable[[], object]] = {}
        self._changed = threading.Condition()
        self._is_busy = False
        self._thread: threading.Thread | None = None

    def put(self, key: str, call: Callable[[], object]) -> None:
        """Have the call made soon; it takes the place of a waiting one with the same key."""
        with self._changed:
            self._calls[key] = partial(copy_context().run, call)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True, name="poster")
                self._thread.start()
            self._changed.notify_all()

    def drain(self, timeout_s: float) -> bool:
        """Wait until every call was made; False when that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._calls and not self._is_busy, timeout_s)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._calls)
                call = self._calls.pop(next(iter(self._calls)))
                self._is_busy = True
            try:
                call()
            except API_AWAY as error:
                logging.getLogger(__name__).warning("Prefect takes no artifact now (%s); the run goes on", error)
            finally:
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()


POSTER = Poster()
