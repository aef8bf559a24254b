"""The ports that the kernel gives to outgoing connections, read as it writes them, and a port that it gives to none."""

import socket
from pathlib import Path

import pytest

from modelpivot.demo.ports import free_port
from modelpivot.facts.outgoing_ports import parse_ranges, read_outgoing_ports
from modelpivot.models.frozen import Unread
from modelpivot.models.host_parts import OutgoingPorts, PortRange


def settings(proc: Path, ports: str, reserved: str = "\n") -> Path:
    """A /proc with these two settings."""
    folder = proc / "sys/net/ipv4"
    folder.mkdir(parents=True)
    (folder / "ip_local_port_range").write_text(ports)
    (folder / "ip_local_reserved_ports").write_text(reserved)
    return proc


def test_a_connection_of_this_host_goes_out_from_one_of_them() -> None:
    """The kernel's own choice lies in what was read."""
    found = read_outgoing_ports()
    assert isinstance(found, OutgoingPorts)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname()) as client:
            assert client.getsockname()[1] in found


def test_reserved_ports_are_none_of_them(tmp_path: Path) -> None:
    """Both ends count, of the range as of what is kept out of it."""
    found = read_outgoing_ports(settings(tmp_path, "32768\t60999\n", "8000,40000-40010\n"))
    assert isinstance(found, OutgoingPorts)
    assert [port in found for port in (32767, 32768, 39999, 40000, 40010, 40011, 60999, 61000)] == [
        False,
        True,
        True,
        False,
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("text", ["x\n", "1-\n", "1-2-3"])
def test_a_list_of_another_shape_is_refused(text: str) -> None:
    """Never half of it."""
    with pytest.raises(ValueError, match="invalid literal"):
        parse_ranges(text)


def test_nothing_reserved_is_an_empty_list() -> None:
    """As most hosts have it."""
    assert parse_ranges("\n") == []
    assert parse_ranges("5\n") == [PortRange(first=5, last=5)]


@pytest.mark.parametrize("ports", ["", "32768\n", "a b\n"])
def test_a_kernel_that_does_not_say_is_unread(tmp_path: Path, ports: str) -> None:
    """No range is no empty range."""
    assert isinstance(read_outgoing_ports(settings(tmp_path / "odd", ports)), Unread)
    assert isinstance(read_outgoing_ports(tmp_path), Unread)


def test_a_free_port_is_the_preferred_one_or_none_that_goes_out() -> None:
    """Taken, another is chosen; nobody's outgoing connection can have it."""
    outgoing, port = read_outgoing_ports(), free_port()
    assert isinstance(outgoing, OutgoingPorts) and port not in outgoing and free_port(port) == port
    with socket.create_server(("127.0.0.1", port)):
        assert free_port(port) not in (port, 0)
