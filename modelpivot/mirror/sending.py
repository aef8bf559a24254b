"""The body of a file: ranges, the plain way out by sendfile, and the ways that a fault makes of it."""

import contextlib
import gzip
import os
import re
import socket
import struct
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from modelpivot.mirror.catalog import Entry
from modelpivot.mirror.faults import Fault
from modelpivot.mirror.record import Request
from modelpivot.weights.pace import Pace

RANGE = re.compile(r"bytes=(\d*)-(\d*)")
ERROR_PAGE = b"<!DOCTYPE html><html><head><title>504 Gateway Time-out</title></head><body>The origin did not answer.</body></html>"


@dataclass(frozen=True)
class Slice:
    """Bytes `start` to `stop` (not included) of `size`."""

    start: int
    stop: int
    size: int

    @property
    def is_whole(self) -> bool:
        """Nothing is left out."""
        return self.start == 0 and self.stop == self.size


def parse_range(header: str | None, size: int) -> Slice | None:
    """The asked slice; the whole for no header or one that is not understood; None: it cannot be satisfied."""
    match = RANGE.fullmatch(header.strip()) if header else None
    if not match or match[1] == match[2] == "":
        return Slice(0, size, size)
    if match[1] == "":
        return Slice(max(0, size - int(match[2])), size, size) if int(match[2]) else None
    start, stop = int(match[1]), min(size, int(match[2]) + 1) if match[2] else size
    return Slice(start, stop, size) if start < stop else None


class Sender:
    """Sends one entry as the answer to one request. `over` is set when the server goes down: nothing waits any longer then."""

    def __init__(self, handler: BaseHTTPRequestHandler, request: Request, pace: Pace, over: threading.Event) -> None:
        self._handler, self._request, self._pace, self._over = handler, request, pace, over

    def send(self, entry: Entry, etag: str, headers: dict[str, str], fault: Fault | None) -> None:
        """Head and body, with the fault if there is one."""
        asked = self._handler.headers
        unchanged = asked.get("If-Range", etag) == etag
        part = parse_range(asked.get("Range") if unchanged else None, entry.size)
        if part is None:
            return self.head(416, {"Content-Range": f"bytes */{entry.size}", "Content-Length": "0"})
        self._request.start = part.start
        headers = {"ETag": etag, "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream", **headers}
        if fault and (content := _replaced(fault, entry, part)) is not None:
            return self._send_bytes(fault, content, headers)
        if fault and fault.kind == "ignore_range":
            part = Slice(0, entry.size, entry.size)
        return self._send_file(entry, part, headers, fault)

    def head(self, status: int, headers: dict[str, str]) -> None:
        """Status line and headers."""
        self._request.status = status
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def _send_bytes(self, fault: Fault, content: bytes, headers: dict[str, str]) -> None:
        extra = {"Content-Encoding": "gzip"} if fault.kind == "gzip" else {}
        if fault.kind == "error_page":
            extra = {"Content-Type": "text/html"}
        self.head(200, {**headers, **extra, "Content-Length": str(len(content))})
        self._write(content)

    def _send_file(self, entry: Entry, part: Slice, headers: dict[str, str], fault: Fault | None) -> None:
        shift = 1 if fault and fault.kind == "wrong_range" and part.start > 0 else 0
        first, stop = part.start - shift, part.stop - shift
        whole = (part.is_whole and not self._handler.headers.get("Range")) or bool(fault and fault.kind == "ignore_range")
        span = {} if whole else {"Content-Range": f"bytes {first}-{stop - 1}/{entry.size}"}
        self.head(200 if whole else 206, {**headers, **span, "Content-Length": str(stop - first)})
        if self._handler.command != "HEAD":
            self._send_span(entry.location, first, stop, fault)

    def _send_span(self, location: Path, start: int, stop: int, fault: Fault | None) -> None:
        breaks_at = start + int((stop - start) * fault.at) if fault else stop
        with location.open("rb") as file:
            if fault is None or fault.kind in ("ignore_range", "wrong_range"):
                return self._stream(file.fileno(), start, stop)
            if fault.kind == "trickle":
                return self._trickle(file.fileno(), start, stop, fault.seconds)
            self._stream(file.fileno(), start, breaks_at)
            if fault.kind == "flip" and breaks_at < stop:
                self._write(bytes([os.pread(file.fileno(), 1, breaks_at)[0] ^ 0xFF]))
                return self._stream(file.fileno(), breaks_at + 1, stop)
        return self._break_off(fault)

    def _stream(self, file: int, start: int, stop: int) -> None:
        """Counted before they go, and again if fewer went: who has read the last byte finds it counted."""
        self._handler.wfile.flush()
        out = self._handler.connection.fileno()
        while start < stop:
            count = min(self._pace.chunk_bytes(8 << 20), stop - start)
            self._pace.wait(count)
            self._request.sent, sent = self._request.sent + count, 0
            try:
                sent = os.sendfile(out, file, start, count)
            finally:
                self._request.sent -= count - sent
            if not sent:
                raise ConnectionResetError("the file became shorter while it was sent")
            start += sent

    def _trickle(self, file: int, start: int, stop: int, pause_s: float) -> None:
        while start < stop and not self._over.wait(pause_s):
            start += self._write(os.pread(file, min(64, stop - start), start))
            self._handler.wfile.flush()

    def _write(self, content: bytes) -> int:
        self._request.sent += len(content)
        self._handler.wfile.write(content)
        return len(content)

    def _break_off(self, fault: Fault) -> None:
        self._handler.close_connection = True
        if fault.kind == "stall":
            self._over.wait(fault.seconds)
        elif fault.kind == "reset":
            reset(self._handler.connection)


def reset(connection: socket.socket) -> None:
    """End a connection with RST instead of FIN, once what was sent has arrived."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


def _replaced(fault: Fault, entry: Entry, part: Slice) -> bytes | None:
    if fault.kind == "pointer":
        return entry.pointer
    if fault.kind == "error_page":
        return ERROR_PAGE
    if fault.kind == "empty":
        return b""
    if fault.kind in ("gzip", "truncate"):
        content = entry.location.read_bytes()[part.start : part.stop]
        return gzip.compress(content) if fault.kind == "gzip" else content[: int(len(content) * fault.at)]
    return None
