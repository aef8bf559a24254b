"""The bytes of one file as they come, into a buffer of the caller's: from a Hub's answer or from an opened file."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import urllib3

from modelpivot.errors import TransientError
from modelpivot.models.manifest import ManifestFile
from modelpivot.weights.answers import REMEDIES

SHORT_BYTES = 64 << 10
"""A rest that is read so that its connection can serve again."""


class Body(Protocol):
    """Bytes of one file from `start` to its end."""

    start: int

    def readinto(self, view: memoryview) -> int:
        """Fill the front of `view` with what is there; how many bytes, 0 at the end. TransientError when the way breaks."""
        ...

    def abort(self) -> None:
        """Make a `readinto` that waits in another thread fail."""
        ...

    def close(self) -> None:
        """Give the connection back, or up."""
        ...


class HubBody:
    """One answer's body."""

    def __init__(self, response: urllib3.BaseHTTPResponse, file: ManifestFile, start: int) -> None:
        self.start, self._response, self._what = start, response, file.path
        self._left, self._stream, self._is_aborted = file.size - start, _stream_of(response), False

    def readinto(self, view: memoryview) -> int:
        """Some bytes. TransientError on a reset, silence, or after `abort`; 0 at the end, also at one that comes too early."""
        with passing_errors(self._what, "the way"):
            count = self._receive(view[: self._left])
        # A TLS socket that is shut down under its reader may hand out what is still encrypted: nothing read after that counts.
        if self._is_aborted:
            raise TransientError(f"{self._what}: connection cut", hint=REMEDIES["unreachable"])
        self._left -= count
        return count

    def _receive(self, view: memoryview) -> int:
        if self._stream is not None:
            return self._stream.readinto1(view)
        chunk = self._response.read1(len(view), decode_content=False) or b""
        view[: len(chunk)] = chunk
        return len(chunk)

    def abort(self) -> None:
        """Shut the socket down under the reader."""
        self._is_aborted = True
        try:
            self._response.shutdown()
        except (OSError, ValueError, RuntimeError):
            self._response.close()

    def close(self) -> None:
        """A connection whose body was read to the end goes back to the pool; any other is closed."""
        if self._stream is None:
            discard(self._response)
        elif self._left or self._is_aborted:
            self._response.close()
        else:
            self._response._fp.close()  # type: ignore[attr-defined]  # read past it, it does not know that it is at its end
            self._response.release_conn()


def _stream_of(response: urllib3.BaseHTTPResponse) -> io.BufferedReader | None:
    """The buffer right above the socket: from there bytes come without a copy or a new piece of memory. None for a body sent in chunks.

    It lies inside urllib3's answer, whose own `read1` makes a new object for every piece (0.3 CPU-seconds a GB, docs/benchmarks.md).
    """
    inner = getattr(response, "_fp", None)
    stream = getattr(inner, "fp", None)
    return stream if isinstance(stream, io.BufferedReader) and not getattr(inner, "chunked", True) else None


class FolderBody:
    """An opened file."""

    def __init__(self, file: io.FileIO, start: int) -> None:
        self.start, self._file = start, file

    def readinto(self, view: memoryview) -> int:
        """Some bytes. TransientError when the file system fails."""
        try:
            return self._file.readinto(view) or 0
        except OSError as error:
            raise TransientError(f"reading the copy failed: {error.strerror}", hint="look at the mount") from error

    def abort(self) -> None:
        """A read of a file cannot be cut short."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@contextmanager
def passing_errors(what: str, where: str) -> Iterator[None]:
    """The door for everything that the network does: it becomes a TransientError that never holds a signed link or a token."""
    try:
        yield
    except urllib3.exceptions.NewConnectionError as error:
        raise TransientError(f"{what}: {where} takes no connection", hint=REMEDIES["unreachable"]) from _plain(error)
    except (urllib3.exceptions.ReadTimeoutError, urllib3.exceptions.ConnectTimeoutError, TimeoutError) as error:
        raise TransientError(f"{what}: nothing came from {where} in time", hint=REMEDIES["unreachable"]) from _plain(error)
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise TransientError(f"{what}: {where}: {_describe(error)}", hint=REMEDIES["unreachable"]) from _plain(error)


def _describe(error: BaseException) -> str:
    inner = error.args[1] if len(error.args) > 1 and isinstance(error.args[1], BaseException) else error
    return type(error).__name__ if inner is error else f"{type(error).__name__} ({type(inner).__name__})"


def _plain(error: BaseException) -> BaseException | None:
    """The cause without its address: urllib3 puts the whole signed link into its messages."""
    return None if "Signature" in str(error) or "Bearer" in str(error) else error


def discard(response: urllib3.BaseHTTPResponse) -> None:
    """Read a short rest so that the connection can serve again; give up one with more to come."""
    remaining = getattr(response, "length_remaining", None)
    if remaining == 0 or (remaining is not None and remaining <= SHORT_BYTES and response.status >= 300):
        response.drain_conn()
        response.release_conn()
    else:
        response.close()
