"""The end of a start that nobody wants any more: nothing was begun that had to be ended in order, and what lies on the disk for it alone goes with it.

Imported by `gate.py` and `gate_device.py`, under the engine's own Python. Each process of the start ends so for itself.
"""

import contextlib
import multiprocessing
import os
import shutil
import socket
import stat
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gate_imports import say

sys.path.pop(0)


def end(why, code=0):
    """In place of an exit in order, which would take seconds to take down what was imported. Whatever comes in between, it ends."""
    try:
        say(why)
        remove_sockets(Path(tempfile.gettempdir()))
        remove_folder()
    finally:
        os._exit(code)


def remove_sockets(folder):
    """The sockets below `folder` that this process listens on: an engine's processes talk over some, named anew at every start."""
    for path in list(listening_paths()):
        with contextlib.suppress(OSError):
            if folder in path.parents and stat.S_ISSOCK(path.lstat().st_mode):
                path.unlink()


def listening_paths():
    """Where this process waits for others on this machine."""
    for number in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(number)) as one:
            name = one.getsockname() if one.family == socket.AF_UNIX and one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) else ""
            if name and isinstance(name, str):
                yield Path(name)


def remove_folder():
    """What `multiprocessing` made for its sockets and removes only at an exit in order; children name the same folder, and end after its owner."""
    folder = multiprocessing.current_process()._config.get("tempdir")
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
