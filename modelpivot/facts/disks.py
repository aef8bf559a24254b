"""The file system that a path lies on, or will lie on. Needs /proc/self/mountinfo; reads sizes, changes nothing.

36 35 98:0 /root1 /mnt/pool rw,noatime shared:1 - ext4 /dev/sdb1 rw,errors=continue
"""

import os
import re
from pathlib import Path

from modelpivot.models.facts import Disk
from modelpivot.models.frozen import Unread

OCTAL = re.compile(r"\\([0-7]{3})")


def read_disk(path: Path) -> Disk | Unread:
    """Space for this user on the file system of the nearest parent that exists; Unread says which path and why."""
    try:
        parent = nearest_existing(path)
        if not parent.is_dir():
            return Unread(unread=f"{path}: {parent} is no directory")
        space = os.statvfs(parent)
        mount, kind = mount_of(parent.resolve(), Path("/proc/self/mountinfo").read_text())
        return Disk(
            path=path,
            mount=mount,
            kind=kind,
            device=parent.stat().st_dev,
            total_bytes=space.f_blocks * space.f_frsize,
            free_bytes=space.f_bavail * space.f_frsize,
            is_writable=not space.f_flag & os.ST_RDONLY and os.access(parent, os.W_OK | os.X_OK),
        )
    except OSError as error:
        return Unread(unread=f"{path}: {error.strerror or error}")


def nearest_existing(path: Path) -> Path:
    """The path itself, or the first of its parents that is there."""
    absolute = path.absolute()
    for candidate in (absolute, *absolute.parents):
        try:
            candidate.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        return candidate
    return Path("/")


def mount_of(path: Path, mountinfo: str) -> tuple[Path, str]:
    """Mount point and type of the mount that holds `path`: the longest one above it, the latest of those mounted over each other."""
    found = (Path("/"), "unknown")
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        mount = Path(OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]))
        if path.is_relative_to(mount) and len(mount.parts) >= len(found[0].parts):
            found = (mount, right.split(" ")[0])
    return found
