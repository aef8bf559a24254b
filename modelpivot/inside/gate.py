"""An engine's start up to a gate: everything is imported, nothing is loaded, and nothing of the GPU is touched, while another engine serves.

Run by the engine's own Python in place of its command line: `gate.py FOLDER -- -m vllm.entrypoints.openai.api_server --model ...`

FOLDER/spec.json    {"preload": ["a.b | c.d", ...], "registry": "module:name" or null, "architectures": [...], "warm_children": bool, "nice": n}
       open         a FIFO, held open for writing by who waits for us: a word opens the gate, its end closes it for ever
       told.json    written here at the gate

Behind the gate the very command line runs in this process. Processes that the engine spawns then come from a server that has imported the same
modules and nothing else: what a spawned child would import for itself is there already. It takes over the variables of the process that
spawns it, and whatever does not work there is spawned as ever.
"""

import contextlib
import ctypes
import importlib
import json
import multiprocessing
import os
import platform
import runpy
import select
import socket
import subprocess
import sys
import time
from multiprocessing import context, forkserver, popen_forkserver, popen_spawn_posix, spawn, util
from pathlib import Path

ENVIRON = "modelpivot_environ"
NEWEST = (3, 13)
"""Newest Python whose server of forked children is known to be as it is used here."""
CHILD_S = 120.0
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
IDLE, UNSET = 3 << 13, 0


def say(text):
    print(f"modelpivot gate: {text}", flush=True)


def end(why):
    """Nothing was begun that had to be ended in order."""
    say(why)
    os._exit(0)


# What is imported


def import_first(names):
    """The first of the alternatives that is there. A module that is there and fails is an error of its own."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or "?"):
                raise
    raise ModuleNotFoundError(f"none of {', '.join(names)}")


def preload(spec, go_on=lambda: None):
    """Import what a start needs. The first entry must be there; of the others each version has some."""
    for number, names in enumerate(spec["preload"]):
        go_on()
        try:
            import_first([name.strip() for name in names.split("|")])
        except Exception as error:
            if number == 0:
                raise
            say(f"{names} is left out: {type(error).__name__}: {error}")
    if spec["registry"]:
        with contextlib.suppress(Exception):
            import_model_classes(spec["registry"], spec["architectures"])


def import_model_classes(registry, architectures):
    """The modules that hold the classes of these architectures."""
    module, name = registry.split(":")
    known = getattr(importlib.import_module(module), name).models
    for architecture in architectures:
        entry = known.get(architecture)
        if entry is not None and hasattr(entry, "module_name"):
            importlib.import_module(entry.module_name)


def is_cuda_initialized():
    torch = sys.modules.get("torch")
    return bool(torch and torch.cuda.is_initialized())


# Priority


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


# Children that are warm


class WarmServer:
    """The server of forked children, seen from the process that runs the engine."""

    def __init__(self, folder):
        address = str(Path(util.get_temp_dir()) / "children")
        alive_r, alive_w = os.pipe()
        self.ready_r, ready_w = os.pipe()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen()
            passed = (listener.fileno(), alive_r, ready_w)
            flags = subprocess._args_from_interpreter_flags()
            argv = [sys.executable, *flags, str(Path(__file__).resolve()), "--serve", str(folder), *map(str, passed)]
            self.process = subprocess.Popen(argv, pass_fds=passed, stdin=subprocess.DEVNULL)
        os.close(alive_r)
        os.close(ready_w)
        server = forkserver._forkserver
        server._forkserver_address, server._forkserver_alive_fd, server._forkserver_pid = address, alive_w, self.process.pid

    def prove(self):
        """One child, to its end."""
        child = multiprocessing.get_context("spawn").Process(target=time.time, daemon=True)
        child.start()
        child.join(CHILD_S)
        if child.exitcode != 0 or not isinstance(child._popen, popen_forkserver.Popen):
            raise RuntimeError(f"a child from it ended with {child.exitcode}")


def serve_children(folder, listener_fd, alive_r, ready_w):
    """The server itself: import, then fork children on demand until nobody holds the other end of `alive_r`."""
    preload(read_spec(folder))
    route_spawned_children()
    os.close(ready_w)
    with contextlib.suppress(SystemExit):
        forkserver.main(listener_fd, alive_r, [])
    os._exit(0)  # taking down what was imported takes a second, and the unit's stop would wait for it


def route_spawned_children():
    """From here on what is spawned in this process, and in its children, comes from the server; a hijacked interpreter is spawned as ever."""
    executable, get_data, prepare, ensure = (
        spawn.get_executable(),
        spawn.get_preparation_data,
        spawn.prepare,
        forkserver._forkserver.ensure_running,
    )

    def get_data_with_environ(name):
        return {**get_data(name), ENVIRON: dict(os.environ)}

    def prepare_with_environ(data):
        take_environ(data.pop(ENVIRON, None))
        prepare(data)

    def ensure_running():
        if forkserver._forkserver._forkserver_address is None or not is_child_of_server():
            ensure()

    def launch(process):
        if spawn.get_executable() != executable:
            return popen_spawn_posix.Popen(process)
        try:
            return popen_forkserver.Popen(process)
        except (OSError, EOFError) as error:
            say(f"a child is spawned as ever: {error}")
            return popen_spawn_posix.Popen(process)

    spawn.get_preparation_data, spawn.prepare = get_data_with_environ, prepare_with_environ
    forkserver._forkserver.ensure_running = ensure_running
    context.SpawnProcess._Popen = staticmethod(launch)


def is_child_of_server():
    """Whether this process came from the server, whose own children need no server of their own."""
    return forkserver._forkserver._forkserver_pid is None


def take_environ(environ):
    """The variables of the process that spawns; the one of them that is read at import is carried out again."""
    if environ is None:
        return
    threads = os.environ.get("OMP_NUM_THREADS")
    os.environ.clear()
    os.environ.update(environ)
    wanted, torch = environ.get("OMP_NUM_THREADS"), sys.modules.get("torch")
    if torch and wanted and wanted != threads and wanted.isdigit():
        torch.set_num_threads(int(wanted))


def start_server(spec, folder):
    """The server, still importing; None where children are to be spawned as ever."""
    if not spec["warm_children"]:
        return None
    if sys.version_info[:2] > NEWEST:
        say(f"children are spawned as ever: Python {platform.python_version()} is newer than what was tried")
        return None
    return WarmServer(folder)


def prove_server(server):
    """Whether its children work; otherwise everything is as if it had never been."""
    launch = context.SpawnProcess.__dict__["_Popen"]
    get_data = spawn.get_preparation_data
    route_spawned_children()
    try:
        server.prove()
    except Exception as error:  # noqa: BLE001 - whatever it is, spawning as ever works without
        say(f"children are spawned as ever: {type(error).__name__}: {error}")
        context.SpawnProcess._Popen, spawn.get_preparation_data = launch, get_data
        server.process.kill()
        return False
    return True


# The gate


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


def read_spec(folder):
    return json.loads((Path(folder) / "spec.json").read_text())


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
    if sys.argv[1] == "--serve":
        serve_children(Path(sys.argv[2]), *map(int, sys.argv[3:6]))
    else:
        main(Path(sys.argv[1]), sys.argv[sys.argv.index("--") + 1 :])
