"""A word to systemd from a process that it watches: still at work. Nothing to do where nobody listens."""

import os
import socket
import time

VARIABLE = "NOTIFY_SOCKET"
EVERY_S = 2.0

_last = 0.0


def pulse() -> None:
    """Say that we are still at work, every two seconds at most. Called wherever the switch waits: a switch that hangs goes silent."""
    global _last
    now = time.monotonic()
    if now - _last >= EVERY_S and VARIABLE in os.environ:
        _last = now
        notify("WATCHDOG=1")


def notify(message: str) -> None:
    """One message to the socket that systemd names; nothing to do without one."""
    address = os.environ.get(VARIABLE, "")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        channel.send(message.encode())
