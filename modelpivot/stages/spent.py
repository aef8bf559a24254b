"""A stop cut short when there is nothing more to wait for: the engine's processes have left the GPUs, and its server waits for clients.

vLLM's server (seen on 0.26) waits on SIGTERM for requests whose engine it has ended itself: as long as the most patient client, `stop_s` at most.
"""

import signal
import threading
import time
from types import TracebackType

from modelpivot.facts.gpus import read_gpus
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Unread
from modelpivot.models.release import Release
from modelpivot.supervisors.process import send_signal
from modelpivot.supervisors.protocol import Supervisor

EVERY_S = 0.5
SPENT_S = 2.0
"""Seconds without a GPU, in which the last answers still go out."""


class EndedWhenSpent:
    """Around a stop. `ended` are the processes that were killed early: none of a release that was on no GPU, or leaves it last."""

    def __init__(self, supervisor: Supervisor, release: Release) -> None:
        self.ended: list[ProcessId] = []
        self._supervisor, self._release = supervisor, release
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="spent")

    def __enter__(self) -> "EndedWhenSpent":
        if self._release.gpus and self._is_on_gpu():
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        left_at: float | None = None
        while not self._is_over.wait(EVERY_S):
            if self._is_on_gpu() is not False:
                left_at = None
            elif left_at is None:
                left_at = time.monotonic()
            elif time.monotonic() - left_at >= SPENT_S:
                self._end()
                return

    def _end(self) -> None:
        self.ended = self._supervisor.processes(self._release)
        for process in self.ended:
            send_signal(process, signal.SIGKILL)

    def _is_on_gpu(self) -> bool | None:
        """Whether a process of the unit holds GPU memory; None: the driver does not tell."""
        gpus = read_gpus()
        if isinstance(gpus, Unread):
            return None
        unit = {process.pid for process in self._supervisor.processes(self._release)}
        return any(process.pid in unit for process in gpus.processes)
