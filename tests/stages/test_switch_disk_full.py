"""A disk that fills up in the middle of a switch. Needs to mount a small file system; skipped where that is not allowed."""

import os
import signal
from pathlib import Path

from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from tests.stages.small_disk import fill, small_disk
from tests.switching import SwitchHost, answers

__all__ = ["small_disk"]


def test_old_release_comes_back_on_a_full_disk(small_disk: Path) -> None:
    """With no byte left on the state's disk the switch still goes back, from the bytes it held in reserve, and closes."""
    host = SwitchHost(small_disk)
    try:
        old, new = host.serve(host.release("old")), host.release("new", args=("--load-s", "1"))
        context = host.context()
        cutover = start_switch(context, to=new, frm=old)
        seen = host.wait_for_phase("readying")
        fill(small_disk)
        assert seen.switch is not None
        os.kill(seen.switch.pid, signal.SIGTERM)
        closed = follow_switch(context, cutover, until=is_closed)
        assert closed.outcome == "returned", closed
        assert answers(old)
        assert len(host.engines()) == 1
    finally:
        host.clean_up()
