"""Ways to a mirror as companies have them: a forward proxy, and TLS in front. Real ones, as small as they can be."""

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make_certificate(path: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(text + certificate.public_bytes(serialization.Encoding.PEM))
    return path


def pump(source: socket.socket, target: socket.socket) -> None:
    """Everything from one to the other, until either ends."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(64 << 10):
            target.sendall(chunk)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def join(one: socket.socket, other: socket.socket) -> None:
    """Both directions, each on a thread of its own."""
    for source, target in ((one, other), (other, one)):
        threading.Thread(target=pump, args=(source, target), daemon=True).start()


@contextmanager
def listening() -> Iterator[socket.socket]:
    """A socket on a free port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@contextmanager
def tls_in_front(address: str, certificate: Path) -> Iterator[str]:
    """TLS that ends here and goes on plain to `address`; gives its own address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    host, port = urlsplit(address).hostname, urlsplit(address).port

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                with contextlib.suppress(OSError):
                    join(context.wrap_socket(client, server_side=True), socket.create_connection((host, port)))

    with listening() as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def forward_proxy(asked: list[str]) -> Iterator[str]:
    """A proxy for plain HTTP that notes the first line of every connection; gives its address."""

    def carry(client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            head = client.recv(64 << 10)
            line = head.split(b"\r\n", 1)[0].decode()
            asked.append(line)
            target = urlsplit(line.split()[1])
            upstream = socket.create_connection((target.hostname or "", target.port or 80))
            path = target.path + (f"?{target.query}" if target.query else "")
            rest = head.split(b"\r\n", 1)[1].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
            upstream.sendall(f"{line.split()[0]} {path} HTTP/1.1\r\n".encode() + rest)
            pump(upstream, client)

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=carry, args=(server.accept()[0],), daemon=True).start()

    with listening() as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
