"""Listeners: real sockets are found with their process; the kernel's table is read as it is written."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from modelpivot.facts.services import is_port_in_use, parse_address, parse_sockets, read_listeners
from modelpivot.models.facts import Listener
from modelpivot.models.frozen import Unread
from tests.lab.sandbox import UNABLE

TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 58921 1 0 100 0 0 10 0
   1: 0100007F:1F41 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 58922 1 0 20 4 30 10 -1
"""


def listeners() -> list[Listener]:
    """Those of this host."""
    found = read_listeners()
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_listening_socket_is_found_with_its_process(family: socket.AddressFamily, address: str) -> None:
    """Port, address, pid and command line of this very process, for both kinds of address."""
    with socket.socket(family) as server:
        try:
            server.bind((address, 0))
        except OSError:
            pytest.skip(f"{UNABLE}: it has no {address}")
        server.listen()
        port = server.getsockname()[1]
        [found] = [it for it in listeners() if (it.port, it.address) == (port, address)]
    assert found.pid == os.getpid()
    assert "python" in found.command or "pytest" in found.command


def test_a_socket_that_is_closed_is_gone() -> None:
    """Nothing is remembered from an earlier look."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
    assert (port, os.getpid()) not in {(it.port, it.pid) for it in listeners()}


def test_a_socket_of_a_child_is_the_childs() -> None:
    """The process named is the one that holds the socket now."""
    code = (
        "import socket,sys\ns=socket.socket(); s.bind(('127.0.0.1',0)); s.listen(); print(s.getsockname()[1], flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        port = int(child.stdout.readline())
        [found] = [it for it in listeners() if (it.port, it.address) == (port, "127.0.0.1")]
        child.communicate("")
    assert found.pid == child.pid


def test_only_what_listens_counts() -> None:
    """An open connection is no listener."""
    assert [(it.address, it.port, it.inode) for it in parse_sockets(TABLE)] == [("127.0.0.1", 8000, 58921)]


def test_a_port_is_in_use_while_somebody_is_connected() -> None:
    """Listening, then only connected, then neither; a client that has said all it has to say may still wait."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        served, _ = server.accept()
        assert is_port_in_use(port) is True
    assert is_port_in_use(port) is True
    client.shutdown(socket.SHUT_WR)
    assert is_port_in_use(port) is True
    served.close()
    client.close()
    assert is_port_in_use(port) is False


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000", "0.0.0.0"),
        ("0100007F", "127.0.0.1"),
        ("00000000000000000000000000000000", "::"),
        ("00000000000000000000000001000000", "::1"),
    ],
)
def test_addresses_are_words_in_the_machines_order(text: str, address: str) -> None:
    """Four bytes each, turned."""
    assert parse_address(text) == address


def test_a_host_without_the_table_does_not_tell_whether_a_port_is_in_use(tmp_path: Path) -> None:
    """Neither yes nor no."""
    assert isinstance(is_port_in_use(8000, tmp_path), Unread)


def test_a_host_without_the_table_is_unread(tmp_path: Path) -> None:
    """No /proc/net/tcp is no empty list."""
    assert isinstance(read_listeners(tmp_path), Unread)


def test_a_table_of_another_shape_is_unread(tmp_path: Path) -> None:
    """What cannot be understood is not passed over."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(TABLE.replace("0100007F:1F40", "zz:1F40"))
    assert isinstance(read_listeners(tmp_path), Unread)
