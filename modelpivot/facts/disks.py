"""The file system that a path lies on, or will lie on. Needs /proc/self/mountinfo; reads sizes, changes nothing.

36 35 98:0 /root1 /mnt/pool rw,noatime shared:1 - ext4 /dev/sdb1 rw,errors=continue
"""

import ctypes
import os
import re
from pathlib import Path
from typing import NamedTuple

from modelpivot.models.facts import Disk
from modelpivot.models.frozen import Unread

NETWORK = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "lustre",
    "gpfs",
    "glusterfs",
    "fuse.sshfs",
    "fuse.gcsfuse",
    "fuse.s3fs",
    "beegfs",
    "9p",
    "afs",
    "wekafs",
)
Q_GETQUOTA, USRQUOTA, QUOTA_BLOCK = 0x800007, 0, 1024
_LIBC = ctypes.CDLL(None, use_errno=True)
OCTAL = re.compile(r"\\([0-7]{3})")


def read_disk(path: Path) -> Disk | Unread:
    """Space for this user on the file system of the nearest parent that exists; Unread says which path and why."""
    try:
        parent = nearest_existing(path)
        if not parent.is_dir():
            return Unread(unread=f"{path}: {parent} is no directory")
        space = os.statvfs(parent)
        mount = mount_of(parent.resolve(), Path("/proc/self/mountinfo").read_text())
        quota = read_quota(mount.source)
        free = space.f_bavail * space.f_frsize
        return Disk(
            path=path,
            mount=mount.point,
            kind=mount.kind,
            device=parent.stat().st_dev,
            total_bytes=space.f_blocks * space.f_frsize,
            free_bytes=free if quota is None else min(free, quota),
            is_writable=not space.f_flag & os.ST_RDONLY and os.access(parent, os.W_OK | os.X_OK),
            is_read_only=bool(space.f_flag & os.ST_RDONLY),
            is_noexec=bool(space.f_flag & os.ST_NOEXEC),
            is_network=mount.kind in NETWORK,
            free_inodes=space.f_favail if space.f_files else None,
            quota_free_bytes=quota,
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


class Mount(NamedTuple):
    """One line of the mount table."""

    point: Path
    kind: str
    source: str


def mount_of(path: Path, mountinfo: str) -> Mount:
    """The mount that holds `path`: the longest one above it, the latest of those mounted over each other."""
    found = Mount(Path("/"), "unknown", "")
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, after = left.split(" "), right.split(" ")
        if len(fields) < 5 or len(after) < 2:
            continue
        point = Path(_plain(fields[4]))
        if path.is_relative_to(point) and len(point.parts) >= len(found.point.parts):
            found = Mount(point, after[0], _plain(after[1]))
    return found


def read_quota(source: str, user: int | None = None) -> int | None:
    """Bytes that this user's quota on a block device leaves; None: there is no limit, or none that can be asked for.

    Limits that a file system keeps itself (XFS projects, ZFS, NFS) show as free space already.
    """
    if not source.startswith("/dev/"):
        return None
    answer = _Quota()
    number = os.getuid() if user is None else user
    failed = _LIBC.quotactl(Q_GETQUOTA << 8 | USRQUOTA, source.encode(), number, ctypes.byref(answer))
    limit = answer.hard_blocks or answer.soft_blocks
    return None if failed or not limit else max(0, limit * QUOTA_BLOCK - answer.used_bytes)


class _Quota(ctypes.Structure):
    """struct if_dqblk of the kernel."""

    _fields_ = (
        ("hard_blocks", ctypes.c_uint64),
        ("soft_blocks", ctypes.c_uint64),
        ("used_bytes", ctypes.c_uint64),
        ("hard_inodes", ctypes.c_uint64),
        ("soft_inodes", ctypes.c_uint64),
        ("used_inodes", ctypes.c_uint64),
        ("block_time", ctypes.c_uint64),
        ("inode_time", ctypes.c_uint64),
        ("valid", ctypes.c_uint32),
    )


def _plain(text: str) -> str:
    return OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
