"""Many small jobs on threads, watched from the caller's own thread: whatever ended since the last look, and a look at least every interval."""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def threads(count: int, name: str, stop: threading.Event, *, on_end: Callable[[], None] = lambda: None) -> Iterator[ThreadPoolExecutor]:
    """A pool that is told to stop, and waited for, however the block ends."""
    pool = ThreadPoolExecutor(count, thread_name_prefix=name)
    try:
        yield pool
    finally:
        stop.set()
        on_end()
        pool.shutdown(wait=True, cancel_futures=True)


def settle(
    pool: ThreadPoolExecutor,
    work: Callable[[T], R],
    jobs: Iterable[T],
    *,
    look: Callable[[list["Future[R]"]], None],
    interval_s: float = 0.1,
) -> None:
    """Run `work` on every job; `look` gets what ended, at most ten times an interval and at least once. Linear in the number of jobs."""
    ended: queue.SimpleQueue[Future[R]] = queue.SimpleQueue()
    left = 0
    for job in jobs:
        pool.submit(work, job).add_done_callback(ended.put)
        left += 1
    while left:
        done = _next(ended, interval_s)
        left -= len(done)
        look(done)
        if left and done:
            time.sleep(interval_s / 10)


def _next(ended: "queue.SimpleQueue[Future[R]]", timeout_s: float) -> list["Future[R]"]:
    """Everything that ended, waiting for the first one."""
    try:
        done = [ended.get(timeout=timeout_s)]
    except queue.Empty:
        return []
    while not ended.empty():
        done.append(ended.get())
    return done
