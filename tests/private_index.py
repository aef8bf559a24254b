"""A private package index over HTTP on loopback, for the odd cases: what is not for this machine, stale, taken back, or other bytes than named."""

import contextlib
import hashlib
import http.server
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.packages import TAG, build_wheel, publish


class _Handler(http.server.SimpleHTTPRequestHandler):
    max_age_s = 0
    held: threading.Event | None = None

    def log_message(self, *args: object) -> None:
        """Requests are not told."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """A wheel is held back after its first bytes until `held` is set."""
        if self.held and self.path.endswith(".whl"):
            outputfile.write(source.read(1000))
            outputfile.flush()
            self.held.wait(60)
        with contextlib.suppress(ConnectionError):
            super().copyfile(source, outputfile)

    def end_headers(self) -> None:
        """How long an answer may be kept."""
        self.send_header("Cache-Control", f"max-age={self.max_age_s}")
        super().end_headers()


class PrivateIndex:
    """Wheels and their pages in a folder, served while the context lasts."""

    def __init__(self, root: Path, url: str) -> None:
        self.root, self.base = root, url

    @property
    def url(self) -> str:
        """Its address for uv and pip."""
        return f"{self.base}/simple"

    def add(
        self,
        name: str,
        version: str,
        *,
        requires: Sequence[str] = (),
        files: Mapping[str, str] | None = None,
        tag: str = TAG,
        digest: str | None = None,
        yanked: str | None = None,
    ) -> Path:
        """Publish a package."""
        wheel = build_wheel(self.root / "wheels", name, version, requires=requires, files=files, tag=tag)
        self.publish(wheel, digest=digest, yanked=yanked)
        return wheel

    def publish(self, wheel: Path, *, digest: str | None = None, yanked: str | None = None) -> None:
        """Name a wheel of the folder on its project's page."""
        publish(self.root / "simple", wheel, address=f"{self.base}/wheels/{wheel.name.replace('+', '%2B')}", digest=digest, yanked=yanked)

    def forget(self, name: str) -> None:
        """Take a project's page away."""
        (self.root / "simple" / name / "index.html").unlink()

    def digest(self, wheel: Path) -> str:
        """sha256 of a wheel."""
        return hashlib.sha256(wheel.read_bytes()).hexdigest()


@contextmanager
def private_index(root: Path, *, max_age_s: int = 0, held: threading.Event | None = None) -> Iterator[PrivateIndex]:
    """An index that answers on loopback; `max_age_s`: what its answers allow caches; `held`: wheels come to their end only when it is set."""
    root.mkdir(parents=True, exist_ok=True)
    handler = type("Handler", (_Handler,), {"max_age_s": max_age_s, "held": held})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield PrivateIndex(root, f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()
        server.server_close()
