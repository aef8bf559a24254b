"""Where parts of a file system are mounted, in every mount namespace: a container that serves from a folder has it mounted, open or not. Needs /proc.

36 35 98:0 /weights/glm5-gguf /model ro,noatime shared:1 - ext4 /dev/sdb1 rw
"""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

OCTAL = re.compile(rb"\\([0-7]{3})")


class Mounted(NamedTuple):
    """One mount, as one process sees it."""

    device: str
    root: str
    """What of the device's file system is mounted."""
    point: str
    pid: int


def read_mounts(proc: Path = Path("/proc")) -> list[Mounted]:
    """The mounts of every namespace, once each, our own first."""
    pids = [os.getpid(), *sorted(int(folder.name) for folder in proc.iterdir() if folder.name.isdigit())]
    seen: set[str] = set()
    found: list[Mounted] = []
    for pid in pids:
        with contextlib.suppress(OSError):
            namespace = os.readlink(proc / str(pid) / "ns/mnt")  # noqa: PTH115
            if namespace not in seen:
                found += parse_mounts((proc / str(pid) / "mountinfo").read_bytes(), pid)
                seen.add(namespace)
    return found


def parse_mounts(text: bytes, pid: int) -> Iterator[Mounted]:
    """The lines of one namespace."""
    for line in text.splitlines():
        fields = line.split(b" ")
        if len(fields) > 4:
            yield Mounted(fields[2].decode(), _plain(fields[3]), _plain(fields[4]), pid)


def find_mounters(path: str, mounts: Sequence[Mounted]) -> list[Mounted]:
    """Mounts of the folder itself, or of something in it, at other places. A mount of a folder around it says nothing of it."""
    device, place = _place_of(path, [each for each in mounts if mounts and each.pid == mounts[0].pid])
    below = f"{place.rstrip('/')}/"
    return [each for each in mounts if each.device == device and (each.root == place or each.root.startswith(below))]


def mounts_below(path: str) -> list[str]:
    """Mount points at or below a real path in our own namespace, files that something is mounted on among them."""
    points = [each.point for each in parse_mounts(Path("/proc/self/mountinfo").read_bytes(), 0)]
    return [point for point in points if point == path or point.startswith(f"{path}/")]


def _place_of(path: str, own: Sequence[Mounted]) -> tuple[str, str]:
    """Device, and where on its file system a path of our own namespace lies."""
    above = [each for each in own if each.point == "/" or path == each.point or path.startswith(f"{each.point}/")]
    mount = max(above, key=lambda each: len(each.point), default=Mounted("", "/", "/", 0))
    rest = path if mount.point == "/" else path[len(mount.point) :]
    return mount.device, f"{mount.root.rstrip('/')}{rest}"


def _plain(field: bytes) -> str:
    return os.fsdecode(OCTAL.sub(lambda found: bytes([int(found[1], 8)]), field))
