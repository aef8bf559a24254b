"""A free loopback port that stays free until it is used."""

import random
import socket

from modelpivot.facts.outgoing_ports import read_outgoing_ports
from modelpivot.models.frozen import Unread

CANDIDATES = range(11_000, 65536)
"""Above the ports that services, tests of ours and browsers have something against."""
TRIED = 100


def free_port(preferred: int = 0) -> int:
    """The preferred port when it is free, else one that the kernel gives to no outgoing connection meanwhile; any free one where there is none such."""
    outgoing = read_outgoing_ports()
    quiet = [port for port in CANDIDATES if isinstance(outgoing, Unread) or port not in outgoing]
    tried = [*([preferred] if preferred else []), *random.sample(quiet, min(len(quiet), TRIED))]
    return next((port for port in tried if _is_free(port)), 0) or _bind(0)


def _is_free(port: int) -> bool:
    try:
        _bind(port)
    except OSError:
        return False
    return True


def _bind(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return int(probe.getsockname()[1])
