"""An engine's start up to a gate: what it imports, reads and starts is there, and nothing of the GPU is touched, while another engine serves.

Run by the engine's own Python in place of its command line: `gate.py FOLDER -- -m vllm.entrypoints.openai.api_server --model ...`

FOLDER/spec.json    {"preload": ["a.b | c.d", ...], "registry": "module:name" or null, "architectures": [...], "warm_children": bool, "nice": n,
                    "device": "module:Class.method" or null, "port": n}
       open         a FIFO, held open for writing by who waits for us: a word opens the gate, its end closes it for ever
       told.json    written here at the gate

With a `device` the very command line runs in this process up to the call in which one of its processes would take its device (`gate_device.py`);
without, or where that cannot be held, up to its first line. Processes that the engine spawns come from a server that has imported the same
(`gate_children.py`).
"""

import contextlib
import ctypes
import json
import os
import platform
import runpy
import select
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gate_children import prove_server, start_server
from gate_device import Doorkeeper, LatePort, family, is_cuda_initialized
from gate_end import end
from gate_imports import preload, read_spec, say

sys.path.pop(0)

IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
IDLE, UNSET = 3 << 13, 0


def set_priority(pid, nice, io):
    """Of every thread of a process. Whoever may not raise it again must not lower it: `may_be_nice` is asked before."""
    number = IOPRIO_SET.get(platform.machine())
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, int(task.name), nice)
            if number:
                ctypes.CDLL(None).syscall(number, 1, int(task.name), io)


def may_be_nice(nice):
    """Whether the priority can be raised again to what it is now; tried on a process of its own."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    pid = os.fork()
    if pid == 0:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, nice)
            os.setpriority(os.PRIO_PROCESS, 0, before)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


class Gate:
    """The reading end of the FIFO, and what is told beside it."""

    def __init__(self, folder):
        self.folder, self.began = folder, time.monotonic()
        self.fd = os.open(folder / "open", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def end_if_closed(self, *others, timeout_ms=0):
        """End here when nobody holds the other end any more. Waits for something on one of the `others`."""
        poller = select.poll()
        poller.register(self.fd, 0)
        for other in others:
            poller.register(other, select.POLLIN)
        if any(fd == self.fd for fd, _ in poller.poll(timeout_ms)):
            end("nobody waits for this start any more")

    def tell(self, **facts):
        """That this start is at the gate. Under its last name only when it is whole."""
        seconds = round(time.monotonic() - self.began, 1)
        draft = self.folder / ".told.json"
        draft.write_text(json.dumps({"seconds": seconds, **facts}))
        draft.rename(self.folder / "told.json")
        words = [
            word for word, is_so in (("children are warm", facts["warm_children"]), ("in front of its device", facts["at_device"])) if is_so
        ]
        say(", ".join([f"at the gate after {seconds} s", *words]))

    def wait(self):
        """Returns when it is opened; ends here when it is closed."""
        os.set_blocking(self.fd, True)
        word = os.read(self.fd, 16)
        os.close(self.fd)
        if word != b"open\n":
            end("closed, nobody waits for this start any more")
        say("open")


class Priority:
    """Low while this start waits, as it was behind the gate; left alone where it could not be raised again."""

    def __init__(self, nice):
        self.before = os.getpriority(os.PRIO_PROCESS, 0)
        self.is_low = nice > self.before and may_be_nice(nice)
        if self.is_low:
            set_priority(os.getpid(), nice, IDLE)

    def restore(self):
        """Of every process that this one has by now."""
        for pid in family(os.getpid()) if self.is_low else []:
            set_priority(pid, self.before, UNSET)


class Held:
    """What opens when the gate does: the door of each process that would take a device, and the port that another engine has."""

    def __init__(self, spec):
        self.device, self.keeper, self.port = spec["device"], Doorkeeper(), LatePort(spec["port"])

    def stand_in_front(self):
        """Whether the engine may run on: it will wait at its device."""
        if self.device is None:
            return False
        try:
            self.keeper.door.stand_in_front(self.device)
        except Exception as error:  # noqa: BLE001 - whatever it is, the gate can stand in front of the first line
            say(f"the gate stands in front of everything: {self.device}: {type(error).__name__}: {error}")
            return False
        self.port.stand_in_front()
        return True

    def open(self):
        """OSError when somebody has the port."""
        self.port.open()
        self.keeper.open()


def run(words):
    """The command line behind the interpreter, as the interpreter itself would run it."""
    is_module = words[0] == "-m"
    name, arguments = (words[1], words[2:]) if is_module else (words[0], words[1:])
    if sys.path and sys.path[0] == str(Path(__file__).resolve().parent):
        sys.path[0] = str(Path.cwd()) if is_module else str(Path(name).resolve().parent)
    sys.argv = [name, *arguments]
    if is_module:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(name, run_name="__main__")


def keep(gate, held, priority, facts):
    """Tell when the first of the engine's processes came to its device, wait for the gate, open all. Ends this process when that cannot be."""
    try:
        gate.end_if_closed(held.keeper.came_r, timeout_ms=None)
        gate.tell(cuda=held.keeper.read_came() or is_cuda_initialized(), at_device=True, **facts)
        gate.wait()
        priority.restore()
        held.open()
    except BaseException as error:  # noqa: BLE001 - a start whose gate nobody keeps must not go on
        end(f"{type(error).__name__}: {error}", code=1)


def main(folder, words):
    gate, spec = Gate(folder), read_spec(folder)
    priority, held = Priority(spec["nice"]), Held(spec)
    server = start_server(spec, folder, held.keeper.door)
    preload(spec, gate.end_if_closed)
    if server is not None:
        gate.end_if_closed(server.ready_r, timeout_ms=None)
    is_warm = server is not None and prove_server(server, held.keeper.door)
    facts = {"warm_children": is_warm, "was_nice": priority.is_low}
    if is_warm and held.stand_in_front():
        threading.Thread(target=keep, args=(gate, held, priority, facts), name="gate", daemon=True).start()
    else:
        gate.tell(cuda=is_cuda_initialized(), at_device=False, **facts)
        gate.wait()
        priority.restore()
        held.open()
    run(words)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[sys.argv.index("--") + 1 :])
