"""A process of our own that ends, with all its group, when we do: a door to processes beside host.py."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from modelpivot.host import KILLED_S, kill_group, wait_at_most

LIFELINE = "MODELPIVOT_LIFELINE"
"""Number of the descriptor whose end of file tells a child that its parent is gone."""


class Child:
    """A process of our own that ends, with all its group, when we do.

    It gets a pipe as lifeline: the child calls `end_with_parent()` first thing, and when the pipe closes it kills its own group.
    """

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str], log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        reader, self._writer = os.pipe()
        try:
            with log.open("ab") as output:
                self._process = subprocess.Popen(
                    list(argv),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**env, LIFELINE: str(reader)},
                    pass_fds=(reader,),
                    start_new_session=True,
                )
        finally:
            os.close(reader)
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    def end(self, *, grace_s: float = 5.0) -> None:
        """SIGTERM to the group, SIGKILL after `grace_s`; nothing to do when it has ended. One that hangs in the kernel (`poll` is still None) is left
        to it: it ends when its call does."""
        if self._process.poll() is None:
            kill_group(self.pid, signal.SIGTERM)
            wait_at_most(self._process, grace_s)
        kill_group(self.pid)
        wait_at_most(self._process, KILLED_S)
        self.close()

    def close(self) -> None:
        """Let go of the lifeline."""
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1


def end_with_parent() -> None:
    """In a child: when the lifeline closes, kill the own process group. Nothing to do without a lifeline."""
    number = os.environ.pop(LIFELINE, None)
    if number is None:
        return
    descriptor = int(number)
    os.set_inheritable(descriptor, False)

    def watch() -> None:
        while os.read(descriptor, 1):
            pass
        kill_group(os.getpgrp(), signal.SIGTERM)
        time.sleep(2)
        kill_group(os.getpgrp())

    threading.Thread(target=watch, daemon=True, name="lifeline").start()
