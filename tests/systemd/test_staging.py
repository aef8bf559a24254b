"""Staging in a slice of its own."""

import os
import subprocess
import sys

from modelpivot.supervisors.control_group import parse_groups
from modelpivot.supervisors.staging import staging_words
from tests.lab.sandbox import Sandbox


def run_in_slice() -> tuple[int, str, str]:
    """Inside: a command in the slice that tells its process number, its control group, and what it reads from a pipe of ours."""
    reader, writer = os.pipe()
    os.write(writer, b"lifeline")
    script = f"import os; print(os.getpid(), os.read({reader}, 8).decode(), open('/proc/self/cgroup').read(), sep='|', end='')"
    process = subprocess.Popen(staging_words([sys.executable, "-c", script]), stdout=subprocess.PIPE, pass_fds=(reader,), text=True)
    output, _ = process.communicate(timeout=30)
    pid, said, group = output.split("|")
    return int(pid) - process.pid, group, said


def test_command_runs_in_the_slice_as_our_child(sandbox: Sandbox) -> None:
    """The command is in the slice, keeps its process number and the descriptors it was given, and leaves no unit behind."""
    difference, group, said = sandbox.call(run_in_slice)
    assert (difference, said) == (0, "lifeline")
    assert any(path.startswith("/modelpivot.slice/modelpivot-staging.slice/run-") for path in parse_groups(group))
    assert sandbox.shell("systemctl list-units --all --plain --no-legend 'run-*'") == ""


def test_slice_leaves_the_model_its_share(sandbox: Sandbox) -> None:
    """The text asks for a fifth of a normal weight; the sandbox's kernel has no such controller, so that its effect is not tried here."""
    sandbox.call(staging_words, ["true"])
    assert sandbox.show("modelpivot-staging.slice", "CPUWeight") == "20"
    assert sandbox.show("modelpivot-staging.slice", "IOWeight") == "20"
    assert sandbox.show("modelpivot-staging.slice", "MemoryHigh") == str(8 << 30)
