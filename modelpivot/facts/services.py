"""TCP ports that something on this host listens on, and who is connected to them, from /proc.

sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
 0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 58921 1 ...
"""

import contextlib
import ipaddress
import os
import re
from pathlib import Path
from typing import NamedTuple

from modelpivot.models.facts import Listener
from modelpivot.models.frozen import Unread
from modelpivot.supervisors.control_group import read_service

LISTEN = "0A"
CONNECTED = ("01", "08")
"""ESTABLISHED, and CLOSE_WAIT: the client has said all it has to say, and may wait for its answer."""
SOCKET = re.compile(r"socket:\[(\d+)\]")


class Socket(NamedTuple):
    """One socket of the kernel's table."""

    address: str
    port: int
    inode: int


def read_listeners(proc: Path = Path("/proc")) -> list[Listener] | Unread:
    """Every listening TCP port, sorted, with the process that holds it; pid None: it belongs to another user or namespace."""
    sockets = _read_sockets(proc, (LISTEN,))
    if isinstance(sockets, Unread):
        return sockets
    owners = read_socket_owners(proc, {socket.inode for socket in sockets}) if sockets else {}
    listeners = [_listener(proc, socket, owners.get(socket.inode)) for socket in sockets]
    return sorted(listeners, key=lambda listener: (listener.port, listener.address))


def is_port_in_use(port: int, proc: Path = Path("/proc")) -> bool | Unread:
    """Whether something listens on a port or somebody is connected to it."""
    sockets = _read_sockets(proc, (LISTEN, *CONNECTED))
    return sockets if isinstance(sockets, Unread) else any(socket.port == port for socket in sockets)


def _read_sockets(proc: Path, states: tuple[str, ...]) -> list[Socket] | Unread:
    try:
        sockets = parse_sockets((proc / "net/tcp").read_text(), states)
        if (proc / "net/tcp6").exists():
            sockets += parse_sockets((proc / "net/tcp6").read_text(), states)
    except (OSError, ValueError) as error:
        return Unread(unread=f"{proc}/net/tcp: {error}")
    return sockets


def parse_sockets(text: str, states: tuple[str, ...] = (LISTEN,)) -> list[Socket]:
    """The sockets of one table that are in one of these states, with their address here. ValueError when a line has another shape."""
    sockets = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] in states:
            address, _, port = fields[1].partition(":")
            sockets.append(Socket(parse_address(address), int(port, 16), int(fields[9])))
    return sockets


def parse_address(text: str) -> str:
    """`0100007F` is 127.0.0.1: words of four bytes in the machine's order."""
    raw = bytes.fromhex(text)
    ordered = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
    return str(ipaddress.ip_address(ordered))


def read_socket_owners(proc: Path, inodes: set[int]) -> dict[int, int]:
    """Which process holds which socket; the lowest process number where several share it. Processes that we may not look into are passed over."""
    owners: dict[int, int] = {}
    for pid in sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()):
        with contextlib.suppress(OSError):
            for descriptor in os.scandir(proc / str(pid) / "fd"):
                with contextlib.suppress(OSError):
                    match = SOCKET.fullmatch(os.readlink(descriptor.path))  # noqa: PTH115 - the target is no path
                    if match and int(match[1]) in inodes:
                        owners.setdefault(int(match[1]), pid)
    return owners


def _listener(proc: Path, socket: Socket, pid: int | None) -> Listener:
    command = ""
    if pid is not None:
        with contextlib.suppress(OSError):
            command = (proc / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()[:200]
    unit = read_service(pid) if pid is not None else ""
    return Listener(port=socket.port, address=socket.address, pid=pid, command=command, unit=unit)
