"""Xid errors: what the driver reported of its GPUs since boot. Needs a kernel log that this user may read.

3,1093,1234567890,-;NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
"""

import contextlib
import os
import re
from pathlib import Path

from modelpivot.models.frozen import Unread
from modelpivot.models.gpu import Xid

XID = re.compile(r"NVRM: Xid \(PCI:([0-9A-Fa-f:.]+)\): (\d+), ?(.*)")
RECORD_BYTES = 16384
MOST = 100
"""Of a GPU that reports without end, the newest so many."""


def read_xids(log: Path = Path("/dev/kmsg")) -> list[Xid] | Unread:
    """Every Xid in the kernel's log, oldest first. Unread where the log is closed to this user."""
    try:
        text = _read_records(log)
    except OSError as error:
        return Unread(unread=f"{log}: {error.strerror or error}; read as root")
    return parse_xids(text)[-MOST:]


def parse_xids(text: str) -> list[Xid]:
    """Xid lines of a kernel log, whatever stands before them."""
    return [Xid(pci=_full(match[1]), code=int(match[2]), message=match[3].strip()) for match in XID.finditer(text)]


def _full(pci: str) -> str:
    """`0000:01:00` names function 0."""
    return pci.lower() if "." in pci else f"{pci.lower()}.0"


def _read_records(log: Path) -> str:
    """One record a read; the device ends with EAGAIN, a file with nothing."""
    handle = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    parts = []
    try:
        with contextlib.suppress(BlockingIOError):
            while True:
                try:
                    record = os.read(handle, RECORD_BYTES)
                except BrokenPipeError:
                    continue
                if not record:
                    break
                parts.append(record)
    finally:
        os.close(handle)
    return b"".join(parts).decode(errors="replace")
