"""Runs in the order in which they began."""

import time
from pathlib import Path

from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import list_runs, new_run_id, open_run


def test_runs_of_one_second_have_an_order(tmp_path: Path) -> None:
    """Whatever they are called: a command that follows another at once is the newest one."""
    state = StatePaths(tmp_path)
    begun = []
    for name in ("recover", "cleanup", "pivot", "adopt") * 3:
        begun.append(open_run(state, new_run_id(name)).id)
        time.sleep(0.002)
    assert [run.id for run in list_runs(state)] == begun[::-1]
