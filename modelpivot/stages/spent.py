"""A stop cut short when there is nothing more to wait for: nobody is served any more, and the engine only tidies up or waits.

vLLM (seen on 0.26) waits on SIGTERM for requests whose engine it has ended itself: as long as the most patient client, `stop_s` at most. Without any
client its interpreters take two to three seconds to put away what the kernel and the driver free at once.
"""

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from modelpivot.facts.gpus import read_gpus
from modelpivot.facts.services import is_port_in_use
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Unread
from modelpivot.models.release import Release
from modelpivot.supervisors.process import send_signal
from modelpivot.supervisors.protocol import Supervisor

EVERY_S = 0.1
LEFT_GPUS_S = 2.0
"""Seconds without a GPU, in which the last answers still go out."""
DRAINED_S = 0.5
"""Half a second without a listener or a client on the port, for the engine's own last words."""
TRACKER = "multiprocessing.resource_tracker"
"""Removes an ended process's shared memory, and ends by itself."""


class EndedWhenSpent:
    """Around a stop. `ended` are the processes that were killed early: none of a release that was on no GPU and listened nowhere, or leaves both last.

    An adopted unit has only what its GPUs tell: what else its own text makes it do at its end is not known.
    """

    def __init__(self, supervisor: Supervisor, release: Release) -> None:
        self.ended: list[ProcessId] = []
        self.why = ""
        self._supervisor, self._release = supervisor, release
        self._signs: list[Sign] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="spent")

    def __enter__(self) -> "EndedWhenSpent":
        self._signs = self._find_signs()
        if self._signs:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _find_signs(self) -> list["Sign"]:
        """What is there now, and can be seen to go."""
        signs = []
        if self._release.gpus and self._is_on_gpu():
            signs.append(Sign("had left the GPUs and waited for clients without an answer", self._is_on_gpu, LEFT_GPUS_S))
        if self._release.origin != "adopted" and self._is_on_port():
            signs.append(Sign("had answered everybody and only tidied up", self._is_on_port, DRAINED_S))
        return signs

    def _watch(self) -> None:
        while not self._is_over.wait(EVERY_S):
            for sign in self._signs:
                if sign.is_spent(time.monotonic()):
                    self.why = sign.words
                    self._end()
                    return

    def _end(self) -> None:
        self.ended = [process for process in self._supervisor.processes(self._release) if not is_tracker(process.pid)]
        for process in self.ended:
            send_signal(process, signal.SIGKILL)

    def _is_on_gpu(self) -> bool | None:
        """Whether a process of the unit holds GPU memory; None: the driver does not tell."""
        gpus = read_gpus()
        if isinstance(gpus, Unread):
            return None
        unit = {process.pid for process in self._supervisor.processes(self._release)}
        return any(process.pid in unit for process in gpus.processes)

    def _is_on_port(self) -> bool | None:
        """Whether it can be reached, or somebody is still connected; None: the kernel's table cannot be read."""
        in_use = is_port_in_use(self._release.endpoint.port)
        return None if isinstance(in_use, Unread) else in_use


class Sign:
    """Something that a serving engine has, and whose absence for `seconds` says that it serves nobody."""

    def __init__(self, words: str, is_there: Callable[[], bool | None], seconds: float) -> None:
        self.words = words
        self._is_there, self._seconds = is_there, seconds
        self._gone_at: float | None = None

    def is_spent(self, now: float) -> bool:
        """Looks once, at `now` (monotonic seconds); a look that tells nothing begins anew."""
        if self._is_there() is not False:
            self._gone_at = None
            return False
        if self._gone_at is None:
            self._gone_at = now
        return now - self._gone_at >= self._seconds


def is_tracker(pid: int) -> bool:
    """Whether it is Python's own process that removes shared memory of others."""
    try:
        return TRACKER.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
