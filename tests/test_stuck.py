"""Processes that cannot be ended keep nobody."""

import os
import threading
from pathlib import Path

import pytest

from modelpivot.errors import CommandFailed
from modelpivot.host import run_command
from modelpivot.lifeline import Child
from modelpivot.waiting import wait_for
from tests.stuck import held_in_the_kernel


def test_a_child_that_hangs_in_the_kernel_is_left_to_it(tmp_path: Path) -> None:
    """The end of a child returns, whether it has gone or not; later it is gone by itself."""
    child = Child(["sleep", "1000"], env=os.environ, log=tmp_path / "log")
    with held_in_the_kernel(child.pid):
        child.end(grace_s=0)
        assert child.poll() is None
    wait_for(lambda: child.poll() is not None, lambda is_gone, _: is_gone or None, what="its end", deadline_s=60)


def test_a_command_that_hangs_in_the_kernel_is_too_late(tmp_path: Path) -> None:
    """It is told like any that outlives its deadline."""
    number, failed = tmp_path / "pid", list[CommandFailed]()

    def run() -> None:
        with pytest.raises(CommandFailed) as caught:
            run_command(["sh", "-c", f"echo $$ > {number}.new; mv {number}.new {number}; exec sleep 1000"], timeout_s=10)
        failed.append(caught.value)

    runner = threading.Thread(target=run, daemon=True)
    runner.start()
    wait_for(number.exists, lambda is_there, _: is_there or None, what="the command", deadline_s=60)
    with held_in_the_kernel(int(number.read_text())):
        runner.join(120)
        assert "still running after 10 s" in failed[0].message
