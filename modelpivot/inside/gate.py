"""An engine's start up to a gate: everything is imported, nothing is loaded, and nothing of the GPU is touched, while another engine serves.

Run by the engine's own Python in place of its command line: `gate.py FOLDER -- -m vllm.entrypoints.openai.api_server --model ...`

FOLDER/spec.json    {"preload": ["a.b | c.d", ...], "registry": "module:name" or null, "architectures": [...], "warm_children": bool, "nice": n}
       open         a FIFO, held open for writing by who waits for us: a word opens the gate, its end closes it for ever
       told.json    written here at the gate

Behind the gate the very command line runs in this process. Processes that the engine spawns then come from a server that has imported the same
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
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gate_children import prove_server, start_server
from gate_imports import preload, read_spec, say

sys.path.pop(0)

IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
IDLE, UNSET = 3 << 13, 0


def end(why):
    """Nothing was begun that had to be ended in order."""
    say(why)
    os._exit(0)


def is_cuda_initialized():
    torch = sys.modules.get("torch")
    return bool(torch and torch.cuda.is_initialized())


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
    """The reading end of the FIFO."""

    def __init__(self, folder):
        self.fd = os.open(folder / "open", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def end_if_closed(self, *others, timeout_ms=0):
        """End here when nobody holds the other end any more. Waits for something on one of the `others`."""
        poller = select.poll()
        poller.register(self.fd, 0)
        for other in others:
            poller.register(other, select.POLLIN)
        if any(fd == self.fd for fd, _ in poller.poll(timeout_ms)):
            end("nobody waits for this start any more")

    def wait(self):
        """Returns when it is opened; ends here when it is closed."""
        os.set_blocking(self.fd, True)
        word = os.read(self.fd, 16)
        os.close(self.fd)
        if word != b"open\n":
            end("closed, nobody waits for this start any more")


def tell(folder, facts):
    """Under its last name only when it is whole."""
    draft = folder / ".told.json"
    draft.write_text(json.dumps(facts))
    draft.rename(folder / "told.json")


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


def come_to_gate(folder, spec, gate):
    """Import, prove the children, tell. The processes whose priority is to be raised behind the gate."""
    began, nice = time.monotonic(), os.getpriority(os.PRIO_PROCESS, 0)
    is_nice = spec["nice"] > nice and may_be_nice(spec["nice"])
    if is_nice:
        set_priority(os.getpid(), spec["nice"], IDLE)
    server = start_server(spec, folder)
    preload(spec, gate.end_if_closed)
    if server is not None:
        gate.end_if_closed(server.ready_r, timeout_ms=None)
    is_warm = server is not None and prove_server(server)
    pids = [os.getpid(), *([server.process.pid] if is_warm else [])]
    seconds = round(time.monotonic() - began, 1)
    tell(folder, {"seconds": seconds, "cuda": is_cuda_initialized(), "warm_children": is_warm, "was_nice": is_nice})
    say(f"at the gate after {seconds} s{', children are warm' if is_warm else ''}")

    def raise_priority():
        for pid in pids if is_nice else []:
            set_priority(pid, nice, UNSET)

    return raise_priority


def main(folder, words):
    gate = Gate(folder)
    raise_priority = come_to_gate(folder, read_spec(folder), gate)
    gate.wait()
    raise_priority()
    say("open")
    run(words)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[sys.argv.index("--") + 1 :])
