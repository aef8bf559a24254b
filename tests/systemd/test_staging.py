"""Staging in a slice of its own."""

import os
import subprocess
import sys

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.models.host import HostConfig
from modelpivot.stages.children import run_child
from modelpivot.stages.context import open_context
from modelpivot.supervisors.control_group import parse_groups
from modelpivot.supervisors.staging import staging_words
from tests.lab.sandbox import Sandbox
from tests.switching import wait_until
from tests.systemd.units import ROOT


def run_in_slice() -> tuple[int, str, str]:
    """Inside: a command in the slice that tells its process number, its control group, and what it reads from a pipe of ours."""
    reader, writer = os.pipe()
    os.write(writer, b"lifeline")
    script = f"import os; print(os.getpid(), os.read({reader}, 8).decode(), open('/proc/self/cgroup').read(), sep='|', end='')"
    process = subprocess.Popen(staging_words([sys.executable, "-c", script]), stdout=subprocess.PIPE, pass_fds=(reader,), text=True)
    output, _ = process.communicate(timeout=120)
    pid, said, group = output.split("|")
    return int(pid) - process.pid, group, said


def test_command_runs_in_the_slice_as_our_child(sandbox: Sandbox) -> None:
    """The command is in the slice, keeps its process number and the descriptors it was given, and leaves no unit behind."""
    difference, group, said = sandbox.call(run_in_slice)
    assert (difference, said) == (0, "lifeline")
    assert any(path.startswith("/modelpivot.slice/modelpivot-staging.slice/run-") for path in parse_groups(group))
    wait_until(lambda: has_no_unit(sandbox), what="the unit to go")


def has_no_unit(sandbox: Sandbox) -> bool:
    """Whether none of a command in the slice is left: systemd takes it away a moment after the command's end."""
    return sandbox.shell("systemctl list-units --all --plain --no-legend 'run-*'") == ""


def test_slice_leaves_the_model_its_share(sandbox: Sandbox) -> None:
    """The text asks for a fifth of a normal weight; the sandbox's kernel has no such controller, so that its effect is not tried here."""
    sandbox.call(staging_words, ["true"])
    assert sandbox.show("modelpivot-staging.slice", "CPUWeight") == "20"
    assert sandbox.show("modelpivot-staging.slice", "IOWeight") == "20"
    assert sandbox.show("modelpivot-staging.slice", "MemoryHigh") == str(8 << 30)


def run_download_without_a_plan() -> None:
    """Inside: a run's download in its child, which finds no plan and says so."""
    run_child(open_context(HostConfig(state_dir=ROOT), run_id="test"), "fetch", lambda event: None)


def test_children_of_a_run_are_in_the_slice(sandbox: Sandbox) -> None:
    """The download of a run is started in the slice, does its work there (here: it tells what it lacks), and leaves no unit behind."""
    with pytest.raises(PreconditionError, match="has no plan"):
        sandbox.call(run_download_without_a_plan)
    assert sandbox.show("modelpivot-staging.slice", "ActiveEnterTimestampMonotonic") != "0"
    told = sandbox.shell("journalctl --sync; journalctl --no-pager -o cat _PID=1 | grep 'run-.*scope'")
    assert "modelpivot.cli.internal child fetch" in told
    wait_until(lambda: has_no_unit(sandbox), what="the unit to go")
