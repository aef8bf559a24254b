"""A command that is heard line by line and ends with us."""

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from modelpivot.errors import CommandFailed
from modelpivot.host import LONGEST_LINE, die_with_parent, is_alive, read_process_id, run_attached
from modelpivot.waiting import wait_for


def run(script: str, *, timeout_s: float = 20) -> list[str]:
    """The lines of a shell script."""
    lines: list[str] = []
    run_attached(["sh", "-c", script], timeout_s=timeout_s, env=os.environ, listen=lines.append)
    return lines


def test_every_line_is_heard_in_order() -> None:
    """Both outputs, progress bars with carriage returns, bytes that are no text."""
    assert run(r"echo one; printf 'two\rthree\n' >&2; printf '\377four'") == ["one", "two", "three", "\ufffdfour"]


def test_a_bad_end_tells_the_last_lines() -> None:
    """Exit code and words; a line of any length is quoted in part."""
    with pytest.raises(CommandFailed, match="exit code 3") as caught:
        run("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo why; exit 3")
    assert caught.value.returncode == 3
    assert [len(line) for line in caught.value.last_lines] == [LONGEST_LINE, 3]


def test_the_deadline_ends_it() -> None:
    """Still running is said with its seconds."""
    with pytest.raises(CommandFailed, match=r"still running after 0\.3 s"):
        run("exec sleep 60", timeout_s=0.3)


def test_the_deadline_is_said_though_its_thread_lingers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command may be seen to have gone before the thread that killed it has ended."""
    kill, is_told = subprocess.Popen.kill, threading.Event()

    def linger(process: subprocess.Popen[str]) -> None:
        kill(process)
        if threading.current_thread() is not threading.main_thread():
            is_told.wait(60)

    monkeypatch.setattr(subprocess.Popen, "kill", linger)
    with pytest.raises(CommandFailed, match=r"still running after 0\.3 s"):
        run("exec sleep 60", timeout_s=0.3)
    is_told.set()


def test_a_listener_that_raises_ends_the_command() -> None:
    """An interruption on our side leaves no process behind."""
    pids: list[int] = []

    def listen(line: str) -> None:
        pids.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_attached(["sh", "-c", "echo $$; exec sleep 60"], timeout_s=60, env=os.environ, listen=listen)
    assert read_process_id(pids[0]) is None


def test_it_ends_when_its_parent_is_killed() -> None:
    """SIGKILL of the process that runs it: the kernel ends the command too."""
    script = "import os; from modelpivot.host import run_attached; " + (
        "run_attached(['sh', '-c', 'echo $$; exec sleep 60'], timeout_s=60, env=os.environ, listen=lambda line: print(line, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        command = read_process_id(int(parent.stdout.readline()))
        assert command is not None
        parent.send_signal(signal.SIGKILL)
    wait_for(lambda: is_alive(command), lambda alive, _: not alive or None, what="the command ends", deadline_s=30, interval_s=0.01)


def test_it_does_not_begin_when_its_parent_went_before(tmp_path: Path) -> None:
    """Whoever asks too late for the kernel's signal never gets it: seen by the parent, which is another one then."""
    began = subprocess.Popen(["touch", tmp_path / "begun"], preexec_fn=partial(die_with_parent, os.getppid()))
    assert began.wait(60) == -signal.SIGKILL
    assert not (tmp_path / "begun").exists()
