"""The sandbox as an object: start, stop, reboot, run a command or call a Python function inside. Needs root and Debian's systemd, dbus, iproute2.

`call` works through a Python that waits inside (`worker.py`), since starting one anew costs half a second a call.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from modelpivot.host import CommandResult, run_command
from modelpivot.waiting import wait_for
from tests.lab.worker import read_frame, write_frame

P = ParamSpec("P")
R = TypeVar("R")

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("systemd-sandbox")
STOPPED = 3
"""What `systemd-sandbox status` ends with when it is off."""
PATIENCE_S = 180.0
"""Seconds for a command or call inside; on a machine that is busy each takes many times what it needs."""
PRIVATE = (Path("/tmp"), Path("/var/tmp"))
"""Empty inside, so that a checkout below them is seen only as the share."""
NEEDED = ("/lib/systemd/systemd", "/usr/bin/dbus-daemon", "/usr/bin/systemd-run", "/usr/bin/nsenter", "/usr/bin/setpriv", "/bin/ip")


UNABLE = "this machine cannot"
"""Begins the reason of a skip that no package mends; such a skip is none of the failures that MODELPIVOT_TEST_NO_SKIP makes."""


def missing() -> str:
    """Why no sandbox can be started here; empty: it can."""
    if os.geteuid():
        return f"{UNABLE}: the systemd sandbox needs root"
    if absent := [path for path in NEEDED if not Path(path).exists()]:
        return f"the systemd sandbox needs {', '.join(absent)} (Debian packages systemd, dbus, iproute2, util-linux)"
    if "overlay" not in Path("/proc/filesystems").read_text():
        return f"{UNABLE}: the systemd sandbox needs a kernel with overlayfs"
    made = run_command(["unshare", "--mount", "--pid", "--fork", "--cgroup", "--uts", "true"], timeout_s=10, is_checked=False)
    return f"{UNABLE}: the systemd sandbox needs namespaces of its own: {made.stderr.strip()}" if made.returncode else ""


class SandboxGone(Exception):
    """The sandbox, or the worker inside it, ended while a call was out."""


class Worker:
    """A Python inside the sandbox that carries out one call after the other."""

    def __init__(self, argv: list[str]) -> None:
        # a file, so that many words on standard error never stop the worker
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 closed in `end`
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._words)

    def call(self, function: Callable[P, R], timeout_s: float, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        """What the function returns inside; what it raises is raised here. SandboxGone when the worker ends, or after `timeout_s`."""
        assert self._process.stdin and self._process.stdout
        late = threading.Timer(timeout_s, self._process.kill)
        late.start()
        try:
            write_frame(self._process.stdin, (function, args, kwargs))
            is_good, answer = read_frame(self._process.stdout)
        except (EOFError, BrokenPipeError) as error:
            raise SandboxGone(f"{function} did not answer within {timeout_s:g} s or died: {self._last_words()}") from error
        finally:
            late.cancel()
        if is_good:
            return answer  # type: ignore[no-any-return]
        raise answer

    def _last_words(self) -> str:
        self._words.seek(0)
        return self._words.read().decode(errors="replace")[-2000:]

    def end(self) -> None:
        """Nothing of it is left. It is asked first: killed from outside it would be a zombie that holds up the end of its namespace."""
        assert self._process.stdin and self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._words.close()


class Sandbox:
    """One machine with a systemd of its own. What is written inside outlives `stop` and `reboot`; `forget` drops it."""

    def __init__(self, state: Path, *, has_private_net: bool = True, call_s: float = PATIENCE_S) -> None:
        self.state, self._call_s = state, call_s
        self._options = ["--keep-upper", "--parent-pid", str(os.getpid()), *(["--private-net"] if has_private_net else [])]
        self._command = SCRIPT
        if any(ROOT.is_relative_to(private) for private in PRIVATE):
            # what is shared can be changed from inside, so that the script itself must lie elsewhere
            self._command = Path(shutil.copy2(SCRIPT, state.parent))
            self._options += ["--share", str(ROOT)]
        self._idle: list[Worker] = []

    def start(self) -> None:
        """Power on and wait until systemd is up, normally within half a second."""
        self._script("start", *self._options)

    def stop(self) -> None:
        """Power off without a warning: SIGKILL to everything inside at once."""
        self._end_workers()
        self._script("stop")

    def power_off(self) -> None:
        """Shut down in order, as an administrator does; returns when the machine is off."""
        self._end_workers()
        self.exec("systemctl", "poweroff", is_checked=False)
        wait_for(
            lambda: run_command([self._command, "status", self.state], timeout_s=10, is_checked=False).returncode,
            lambda code, _: code == STOPPED or None,
            what="the machine to be off",
            deadline_s=PATIENCE_S,
        )
        self.stop()

    def reboot(self) -> None:
        """A power cut, and on again: new boot id, empty /tmp and /run, everything else as it was."""
        self.stop()
        self.start()

    def forget(self) -> None:
        """Stop, and drop what was written inside."""
        self._end_workers()
        self._script("forget")

    def _end_workers(self) -> None:
        while self._idle:
            self._idle.pop().end()

    def _script(self, command: str, *options: str) -> None:
        run_command([self._command, command, self.state, *options], timeout_s=150)

    def exec(self, *argv: str | Path, timeout_s: float = PATIENCE_S, stdin: str | None = None, is_checked: bool = True) -> CommandResult:
        """Run a command inside; CommandFailed as `run_command` says."""
        return run_command(self._inside(*argv), timeout_s=timeout_s, stdin=stdin, is_checked=is_checked)

    def shell(self, script: str, *, timeout_s: float = PATIENCE_S) -> str:
        """Standard output of a bash script inside, without its last newline; CommandFailed when it does not end with 0."""
        return self.exec("bash", "-euo", "pipefail", "-c", script, timeout_s=timeout_s).stdout.rstrip("\n")

    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function of a module, or a method of a picklable object, inside. It has `call_s`; what it raises is raised here."""
        worker = (
            self._idle.pop() if self._idle else Worker(self._inside("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.lab.worker"))
        )
        try:
            answer = worker.call(function, self._call_s, args, kwargs)
        except SandboxGone:
            worker.end()
            raise
        except BaseException:
            self._idle.append(worker)
            raise
        self._idle.append(worker)
        return answer

    def write(self, path: str | Path, text: str, *, mode: int = 0o644) -> None:
        """Put a file inside, folders included."""
        self.call(_write, Path(path), text, mode)

    def read(self, path: str | Path) -> str:
        """A file inside."""
        return self.call(Path(path).read_text)

    def journal(self, unit: str) -> list[str]:
        """Messages of a unit in this boot, oldest first, all that were sent by now: the journal takes them in a moment later."""
        self.exec("journalctl", "--sync")
        return self.exec("journalctl", "--no-pager", "--output", "cat", "--unit", unit).stdout.splitlines()

    def show(self, unit: str, name: str) -> str:
        """One property of a unit, as `systemctl show` tells it."""
        return self.exec("systemctl", "show", unit, "--property", name, "--value").stdout.strip()

    def _inside(self, *argv: str | Path) -> list[str]:
        return [str(self._command), "exec", str(self.state), "--", *map(str, argv)]


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
