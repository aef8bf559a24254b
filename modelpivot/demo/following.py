"""Shows a run's journal while this process carries the run: what its switch, another process, tells is seen too."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from modelpivot.models.event import Event
from modelpivot.state.paths import RunPaths
from modelpivot.state.runs import follow_events


@contextmanager
def followed(run: RunPaths, listener: Callable[[Event], None]) -> Iterator[None]:
    """Hand every event of the run to the listener, on a thread of its own, until the block ends and all that was told is read."""
    is_over = threading.Event()

    def follow() -> None:
        for event in follow_events(run, is_over.is_set):
            listener(event)

    thread = threading.Thread(target=follow, daemon=True, name="followed")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
