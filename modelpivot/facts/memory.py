"""Memory that a new process may take, from /proc/meminfo.

MemAvailable:   12345678 kB
"""

import re
from pathlib import Path

from modelpivot.models.frozen import Unread

AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)


def read_available_memory(meminfo: Path = Path("/proc/meminfo")) -> int | Unread:
    """Bytes available without swapping; Unread when the kernel does not say."""
    try:
        text = meminfo.read_text()
    except OSError as error:
        return Unread(unread=f"{meminfo}: {error.strerror or error}")
    match = AVAILABLE.search(text)
    return int(match[1]) * 1024 if match else Unread(unread=f"{meminfo}: no MemAvailable line")
