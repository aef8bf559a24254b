"""How often we ourselves asked the engine on a port: clients that watch a service count here, so that a benchmark can tell its strangers.

<state>/asked-<port>        one byte for every answered request of ours
<state>/asked-<port>.gate   held for a moment by who reads the count; who wants to ask waits for it
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from modelpivot.waiting import WaitedTooLong, wait_for


def ask_counted(path: Path | None, ask: Callable[[], str]) -> str:
    """What `ask` returns, counted when it was answered (empty). A count that cannot be written loses a benchmark, never a request."""
    handle = _take_turn(path) if path else None
    if handle is None:
        return ask()
    try:
        problem = ask()
        if not problem:
            with suppress(OSError):
                os.write(handle, b".")
        return problem
    finally:
        os.close(handle)


@contextmanager
def counted_exactly(path: Path, *, timeout_s: float) -> Iterator[int]:
    """How often we asked so far; none of our requests is under way inside. Whoever still asks after `timeout_s` is not waited for."""
    gate, count = _open(_gate(path)), _open(path)
    try:
        fcntl.flock(gate, fcntl.LOCK_EX)
        with suppress(WaitedTooLong):
            wait_for(lambda: _is_quiet(count), lambda quiet, _: quiet or None, what="no request", deadline_s=timeout_s, interval_s=0.01)
        yield os.fstat(count).st_size
    finally:
        os.close(count)
        os.close(gate)


def _take_turn(path: Path) -> int | None:
    """The count, held so that nobody reads it meanwhile; None: it cannot be written."""
    with ExitStack() as open_files, suppress(OSError):
        handle = _open(path)
        open_files.callback(os.close, handle)
        _pass_gate(path)
        fcntl.flock(handle, fcntl.LOCK_SH)
        open_files.pop_all()
        return handle
    return None


def _pass_gate(path: Path) -> None:
    handle = _open(_gate(path))
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _is_quiet(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _gate(path: Path) -> Path:
    return path.with_name(f"{path.name}.gate")


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
