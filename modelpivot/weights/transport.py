"""Where bytes come from: a Hub over HTTP, or a folder. One opened body at a time, its answer checked before the first byte is handed on."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urljoin, urlsplit

import urllib3

from modelpivot.errors import TransientError
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.weights.answers import REMEDIES, Refused, WrongAnswer, body_start, check_linked, error_for_status
from modelpivot.weights.body import Body, FolderBody, HubBody, discard, passing_errors
from modelpivot.weights.content import looks_like
from modelpivot.weights.pools import Pools

REDIRECTS, CONNECT_S, PEEK_BYTES = 8, 10.0, 512
NO_HEADERS: Mapping[str, str] = {}


class Origin(Protocol):
    """Where the files of one manifest can be had."""

    name: str

    def open(self, file: ManifestFile, start: int) -> Body:
        """The file from `start` on, or from 0 where that cannot be had. TransientError passes, Refused does not."""
        ...

    def renew(self) -> None:
        """Drop every connection: the next body comes by a new one."""
        ...


class HubWay:
    """GETs on a Hub and where it sends them on to. The token goes to the Hub's own host only, and a link is asked for anew every time."""

    def __init__(self, endpoint: str, *, token: str | None, connections: int, stall_s: float) -> None:
        self.address = endpoint.rstrip("/")
        self._token, self._home = token, _origin_of(endpoint)
        self._pools = Pools(connections, urllib3.Timeout(connect=min(CONNECT_S, stall_s), read=stall_s))

    def follow(
        self,
        url: str,
        *,
        what: str,
        headers: Mapping[str, str] = NO_HEADERS,
        look: Callable[[Mapping[str, str]], None] = lambda headers: None,
    ) -> urllib3.BaseHTTPResponse:
        """The answer with status 200 or 206; `look` sees the headers of every redirect. TransientError or Refused for any other answer."""
        for _ in range(REDIRECTS):
            is_home = _origin_of(url) == self._home
            response = self._ask(url, headers, is_home=is_home, what=what)
            if response.status in (200, 206):
                return response
            discard(response)
            location = response.headers.get("Location")
            if response.status not in (301, 302, 303, 307, 308) or not location:
                raise error_for_status(response.status, response.headers, what=what, from_store=not is_home)
            look(response.headers)
            url = urljoin(url, location)
        raise TransientError(f"{what}: more than {REDIRECTS} redirects", hint=REMEDIES["unreachable"])

    def renew(self) -> None:
        """Drop every connection."""
        self._pools.clear()

    def _ask(self, url: str, headers: Mapping[str, str], *, is_home: bool, what: str) -> urllib3.BaseHTTPResponse:
        headers = {"User-Agent": "modelpivot", "Accept-Encoding": "identity", **headers}
        if is_home and self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        with passing_errors(what, urlsplit(url).netloc):
            return self._pools.of(url).request("GET", url, headers=headers, redirect=False, preload_content=False, decode_content=False)


class HubOrigin:
    """A repository at its pinned commit on a Hub."""

    def __init__(self, endpoint: str, manifest: Manifest, *, token: str | None = None, connections: int = 8, stall_s: float = 30) -> None:
        self._manifest, self._way = manifest, HubWay(endpoint, token=token, connections=connections, stall_s=stall_s)
        self.name = self._way.address

    def open(self, file: ManifestFile, start: int) -> Body:
        """The file from `start` on. TransientError, WrongAnswer or Refused as `answers` tells them apart."""
        span = {"Range": f"bytes={start}-{file.size - 1}"} if start else {}
        response = self._follow(span, file)
        try:
            return HubBody(response, file, body_start(response.status, response.headers, file, start))
        except WrongAnswer as error:
            error.code = looks_like(_peek(response)) or error.code
            response.close()
            raise

    def read_part(self, file: ManifestFile, start: int, stop: int) -> bytes:
        """Bytes `start` to `stop` (not included, at most the file's size) of one file, and no more. Errors as `open`, and when fewer come."""
        stop = min(stop, file.size)
        response = self._follow({"Range": f"bytes={start}-{stop - 1}"}, file)
        try:
            begin = body_start(response.status, response.headers, file, start, stop)
            with passing_errors(file.path, "the way"):
                content = response.read(stop - begin, decode_content=False)
        finally:
            discard(response)
        if len(content) < stop - begin:
            raise TransientError(f"{file.path}: ended at byte {begin + len(content)} of {stop}", hint=REMEDIES["unreachable"])
        return content[start - begin :]

    def renew(self) -> None:
        """Drop every connection."""
        self._way.renew()

    def _follow(self, span: Mapping[str, str], file: ManifestFile) -> urllib3.BaseHTTPResponse:
        url = f"{self.name}/{self._manifest.repo}/resolve/{self._manifest.commit}/{quote(file.path)}"
        return self._way.follow(url, what=file.path, headers=span, look=lambda headers: check_linked(headers, file, self._manifest.commit))


class FolderOrigin:
    """The same files in another directory: a copy, a network mount, a snapshot in the Hub library's cache."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        self.name, self._directory = str(directory), _find_copy(directory, manifest)

    def open(self, file: ManifestFile, start: int) -> Body:
        """The file from `start` on. Refused when it is not there; WrongAnswer when its size differs."""
        path = self._directory / file.path
        try:
            opened = path.open("rb", buffering=0)
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}", hint="take another origin") from error
        length = {"Content-Length": str(path.stat().st_size)}
        try:
            body_start(200, length, file, 0)
            opened.seek(start)
        except BaseException:
            opened.close()
            raise
        return FolderBody(opened, start)

    def renew(self) -> None:
        """Nothing to drop."""


def _peek(response: urllib3.BaseHTTPResponse) -> bytes:
    with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
        return response.read1(PEEK_BYTES, decode_content=False) or b""
    return b""


def _origin_of(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)


def _find_copy(directory: Path, manifest: Manifest) -> Path:
    """The folder of this commit below `directory` where it has our layout or the Hub library's; else `directory` itself."""
    known = (
        directory / manifest.repo.replace("/", "--") / manifest.commit,
        directory / f"models--{manifest.repo.replace('/', '--')}" / "snapshots" / manifest.commit,
        directory / "snapshots" / manifest.commit,
    )
    return next((each for each in known if each.is_dir()), directory)


def open_origin(place: str, manifest: Manifest, *, token: str | None = None, connections: int = 8, stall_s: float = 30) -> Origin:
    """A Hub for an address, a folder for anything else."""
    if place.startswith(("http://", "https://")):
        return HubOrigin(place, manifest, token=token, connections=connections, stall_s=stall_s)
    return FolderOrigin(Path(place), manifest)
