"""The door to processes: run a command with a deadline, start a detached one, tell processes apart."""

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from modelpivot.errors import CommandFailed
from modelpivot.models.cutover import ProcessId

LAST_LINES = 20
LONGEST_LINE = 2000
"""Characters of a line that an error quotes."""

KILLED_S = 5.0
"""Seconds that a process may take to go after SIGKILL: one in an uninterruptible call (a driver, a disk) goes when that ends."""

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class CommandResult:
    """How a command ended."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


def run_command(
    argv: Sequence[str | Path],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
    is_checked: bool = True,
    umask: int = -1,
) -> CommandResult:
    """Run to the end, in a group of its own that is killed whole at the deadline. `umask`: of what it makes, -1: ours.

    CommandFailed when it is missing, outlives `timeout_s`, or (if `is_checked`) its exit code is not 0. One that hangs in the kernel is left to it.
    """
    words = tuple(str(word) for word in argv)
    process = _open(
        words,
        env,
        cwd,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        umask=umask,
    )
    try:
        stdout, stderr = process.communicate(stdin, timeout=timeout_s)
    except BaseException as error:
        kill_group(process.pid)
        wait_at_most(process, KILLED_S)
        if isinstance(error, subprocess.TimeoutExpired):
            raise _too_late(words, timeout_s) from error
        raise
    if is_checked and process.returncode:
        raise _ended_badly(words, process.returncode, (stdout + stderr).strip().splitlines())
    return CommandResult(words, process.returncode, stdout, stderr)


def run_attached(
    argv: Sequence[str | Path],
    *,
    timeout_s: float,
    env: Mapping[str, str],
    listen: Callable[[str], None],
    cwd: Path | None = None,
    umask: int = -1,
) -> None:
    """Run to the end in our own process group, giving `listen` every line of its output as it comes. `umask`: of what it makes, -1: ours.

    It ends when we end, however we end: signals to the group reach it, and the kernel kills it when the thread that started it is gone.
    CommandFailed when it is missing, outlives `timeout_s` or its exit code is not 0.
    """
    words = tuple(str(word) for word in argv)
    die = partial(die_with_parent, os.getpid())
    process = _open(words, env, cwd, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, preexec_fn=die, umask=umask)
    lines, is_late = deque[str](maxlen=LAST_LINES), threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    timer = threading.Timer(timeout_s, end)
    timer.start()
    try:
        for line in process.stdout or ():
            lines.append(line.rstrip()[:LONGEST_LINE])
            listen(line.rstrip())
        process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
    if process.returncode:
        raise _too_late(words, timeout_s) if is_late.is_set() else _ended_badly(words, process.returncode, list(lines))


def _open(words: tuple[str, ...], env: Mapping[str, str] | None, cwd: Path | None, **options: Any) -> subprocess.Popen[str]:
    environment = dict(env) if env is not None else None
    try:
        return subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, cwd=cwd, text=True, errors="replace", **options)
    except OSError as error:
        raise CommandFailed(f"{words[0]} does not start: {error.strerror}", argv=words, hint="install it or put it on the PATH") from error


def _too_late(words: tuple[str, ...], timeout_s: float) -> CommandFailed:
    return CommandFailed(f"{' '.join(words[:4])}: still running after {timeout_s:g} s, killed", argv=words)


def _ended_badly(words: tuple[str, ...], returncode: int, lines: list[str]) -> CommandFailed:
    last = tuple(lines[-LAST_LINES:])
    message = f"{' '.join(words[:4])}: exit code {returncode}: {last[-1] if last else 'no output'}"
    return CommandFailed(message, argv=words, returncode=returncode, last_lines=last)


def die_with_parent(parent: int) -> None:
    """In a child, between fork and exec. A parent that went before this was asked for sends no signal any more."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def boot_id() -> str:
    """The kernel's id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def read_start_time(pid: int) -> int | None:
    """Start of a living process in clock ticks since boot; None when there is none, or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def read_process_id(pid: int) -> ProcessId | None:
    """The identity of a living process; None when it is gone."""
    start_time = read_start_time(pid)
    return None if start_time is None else ProcessId(pid=pid, start_time=start_time, boot_id=boot_id())


def own_process_id() -> ProcessId:
    """The identity of this process."""
    process = read_process_id(os.getpid())
    assert process is not None
    return process


def is_alive(process: ProcessId) -> bool:
    """Whether this very process still runs: same boot, same number, same start."""
    return process.boot_id == boot_id() and read_start_time(process.pid) == process.start_time


def kill_group(group: int, sign: int = signal.SIGKILL) -> None:
    """Signal a process group; nothing to do when it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, sign)


def wait_at_most(process: "subprocess.Popen[Any]", seconds: float) -> None:
    """Until the process has ended, or so many seconds have gone."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def spawn_detached(argv: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path) -> ProcessId:
    """Start a process that outlives us: session of its own, output appended to `log`, no descriptor of ours.

    CommandFailed when the binary does not start.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                close_fds=True,
            )
        except OSError as error:
            raise CommandFailed(f"{argv[0]} does not start: {error.strerror}", argv=argv) from error
    threading.Thread(target=process.wait, daemon=True, name=f"reap-{process.pid}").start()
    return read_process_id(process.pid) or ProcessId(pid=process.pid, start_time=0, boot_id=boot_id())
