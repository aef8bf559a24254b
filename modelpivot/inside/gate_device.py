"""An engine's start that runs on up to its device: configuration, tokenizer and processes come before the gate, the device and the port behind it.

Imported by `gate.py` and `gate_children.py`, under the engine's own Python. Each process that would take a device says so and waits; the server's port
belongs to the engine that still serves, so what is bound to it is bound when the gate opens.
"""

import functools
import importlib
import os
import select
import socket
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gate_end import end

sys.path.pop(0)

ALL_CAME_S = 0.5
"""After the last process came: those of one engine come together."""


def is_cuda_initialized():
    torch = sys.modules.get("torch")
    return bool(torch and torch.cuda.is_initialized())


class Door:
    """Where the processes of an engine wait, by two descriptors that they inherit.

    came_w      takes a byte of each that came: 1 if it holds a CUDA context already, else 0
    opened_r    can be read from the moment the gate is open; its end without that: whoever could open it is gone
    """

    def __init__(self, came_w, opened_r):
        self.came_w, self.opened_r, self.is_kept = came_w, opened_r, False

    def look(self, timeout_ms):
        """Whether it is open, at the latest after `timeout_ms` (None: for ever). Ends this process when it can open no more."""
        poller = select.poll()
        poller.register(self.opened_r, select.POLLIN)
        events = poller.poll(timeout_ms)
        if events and not events[0][1] & select.POLLIN:
            end("nobody waits for this start any more")
        return bool(events)

    def wait(self):
        """Returns when it is open; at once from then on."""
        if not self.look(0):
            os.write(self.came_w, b"1" if is_cuda_initialized() else b"0")
            self.look(None)

    def stand_in_front(self, path):
        """From here on whoever calls the method at `module:Class.method` waits first, in this process and in those forked from it."""
        module, names = path.split(":")
        *owners, method = names.split(".")
        owner = functools.reduce(getattr, owners, importlib.import_module(module))
        real = getattr(owner, method)

        @functools.wraps(real)
        def held(*args, **kwargs):
            self.wait()
            return real(*args, **kwargs)

        setattr(owner, method, held)
        self.is_kept = True


class Doorkeeper:
    """The other ends, in the process that runs the engine and in no other: what waits ends with it."""

    def __init__(self):
        self.came_r, came_w = os.pipe()
        opened_r, self.opened_w = os.pipe()
        self.door = Door(came_w, opened_r)
        os.register_at_fork(after_in_child=self.leave)

    def leave(self):
        """In a child that was forked: its end of the pipe must keep nobody waiting. Once: its own children have other things under that number."""
        if self.opened_w >= 0:
            os.close(self.opened_w)
            self.opened_w = -1

    def read_came(self):
        """Whether one of those that came, and of those that come with it, holds a CUDA context. Called when there is something to read."""
        told = b""
        poller = select.poll()
        poller.register(self.came_r, select.POLLIN)
        while poller.poll(ALL_CAME_S * 1000):
            told += os.read(self.came_r, 4096)
        return b"1" in told

    def open(self):
        os.write(self.opened_w, b"o")


class LatePort:
    """What the engine binds to its port is bound behind the gate."""

    def __init__(self, port):
        self.port, self.waiting, self.lock, self.is_open = port, [], threading.Lock(), False

    def stand_in_front(self):
        real = socket.socket.bind

        def bind(sock, address):
            with self.lock:
                if not self.is_open and sock.family in (socket.AF_INET, socket.AF_INET6) and address[1] == self.port:
                    self.waiting.append((sock, address))
                    return
            real(sock, address)

        socket.socket.bind = bind

    def open(self):
        """OSError when somebody else has it."""
        with self.lock:
            self.is_open = True
        for sock, address in self.waiting:
            if sock.fileno() >= 0:
                sock.bind(address)


def family(pid):
    """A process and all that descend from it."""
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found
