"""A server of forked children that has imported what they would import for themselves, in place of spawning each anew.

`gate.py` starts it: `gate_children.py FOLDER LISTENER ALIVE READY CAME OPENED`, the last five numbers of open descriptors. It is Python's own
`forkserver` with our imports; a child takes over the variables of the process that spawns it, and whatever does not work here is spawned as ever.
"""

import contextlib
import importlib
import multiprocessing
import os
import platform
import socket
import subprocess
import sys
import time
from multiprocessing import context, forkserver, popen_forkserver, popen_spawn_posix, resource_tracker, spawn, util
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gate_device import Door
from gate_imports import preload, read_spec, say

sys.path.pop(0)

ENVIRON = "modelpivot_environ"
NEWEST = (3, 13)
"""Newest Python whose server of forked children is known to be as it is used here."""
CHILD_S = 120.0


class WarmServer:
    """The server of forked children, seen from the process that runs the engine."""

    def __init__(self, folder, door):
        address = str(Path(util.get_temp_dir()) / "children")
        alive_r, alive_w = os.pipe()
        self.ready_r, ready_w = os.pipe()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen()
            passed = (listener.fileno(), alive_r, ready_w, door.came_w, door.opened_r)
            flags = subprocess._args_from_interpreter_flags()
            argv = [sys.executable, *flags, str(Path(__file__).resolve()), str(folder), *map(str, passed)]
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


def serve_children(folder, listener_fd, alive_r, ready_w, came_w, opened_r):
    """The server itself: import, then fork children on demand until nobody holds the other end of `alive_r`."""
    spec, door = read_spec(folder), Door(came_w, opened_r)
    preload(spec)
    if spec["device"] is not None:
        door.stand_in_front(spec["device"])
    find_title()
    route_spawned_children(door)
    os.close(ready_w)
    with contextlib.suppress(SystemExit):
        forkserver.main(listener_fd, alive_r, [])
    os._exit(0)  # taking down what was imported takes a second, and the unit's stop would wait for it


def find_title():
    """Let setproctitle find where this process keeps its name while its variables still lie where they were; children take over what it found."""
    with contextlib.suppress(ImportError):
        importlib.import_module("setproctitle").getproctitle()


def route_spawned_children(door):
    """From here on what is spawned in this process, and in its children, comes from the server.

    A hijacked interpreter is spawned as ever, behind the gate: nothing in it would wait at its device.
    """
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
        """A server of ours that died is not replaced by one that imported nothing."""
        if forkserver._forkserver._forkserver_address is None:
            ensure()
        else:
            resource_tracker.ensure_running()

    def launch(process):
        if spawn.get_executable() == executable:
            try:
                return popen_forkserver.Popen(process)
            except (OSError, EOFError) as error:
                say(f"a child is spawned as ever: {error}")
        if door.is_kept:
            door.wait()
        return popen_spawn_posix.Popen(process)

    spawn.get_preparation_data, spawn.prepare = get_data_with_environ, prepare_with_environ
    forkserver._forkserver.ensure_running = ensure_running
    context.SpawnProcess._Popen = staticmethod(launch)


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


def start_server(spec, folder, door):
    """The server, still importing; None where children are to be spawned as ever."""
    if not spec["warm_children"]:
        return None
    if sys.version_info[:2] > NEWEST:
        say(f"children are spawned as ever: Python {platform.python_version()} is newer than what was tried")
        return None
    return WarmServer(folder, door)


def prove_server(server, door):
    """Whether its children work; otherwise everything is as if it had never been."""
    launch = context.SpawnProcess.__dict__["_Popen"]
    get_data = spawn.get_preparation_data
    route_spawned_children(door)
    try:
        server.prove()
    except Exception as error:  # noqa: BLE001 - whatever it is, spawning as ever works without
        say(f"children are spawned as ever: {type(error).__name__}: {error}")
        context.SpawnProcess._Popen, spawn.get_preparation_data = launch, get_data
        server.process.kill()
        return False
    return True


if __name__ == "__main__":
    serve_children(Path(sys.argv[1]), *map(int, sys.argv[2:7]))
