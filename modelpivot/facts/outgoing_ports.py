"""Which local ports the kernel gives to outgoing connections by itself: net.ipv4.ip_local_port_range and ip_local_reserved_ports (both count for IPv6 too)."""

from pathlib import Path

from modelpivot.models.frozen import Unread
from modelpivot.models.host_parts import OutgoingPorts, PortRange


def read_outgoing_ports(proc: Path = Path("/proc")) -> OutgoingPorts | Unread:
    """The range and what is kept out of it; Unread where the kernel does not say."""
    settings = proc / "sys/net/ipv4"
    try:
        first, last = (int(word) for word in (settings / "ip_local_port_range").read_text().split())
        reserved = parse_ranges((settings / "ip_local_reserved_ports").read_text())
    except (OSError, ValueError) as error:
        return Unread(unread=f"{settings}: {error}")
    return OutgoingPorts(ports=PortRange(first=first, last=last), reserved=reserved)


def parse_ranges(text: str) -> list[PortRange]:
    """`8000,9000-9100`, as the kernel writes it; empty: none. ValueError when it has another shape."""
    words = [word.partition("-") for word in text.strip().split(",") if word]
    return [PortRange(first=int(first), last=int(last if dash else first)) for first, dash, last in words]
