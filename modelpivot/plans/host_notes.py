"""What stands in the way or should be known of the host: GPUs that report errors, disks that are slow, closed to programs, out of files. Pure."""

from collections.abc import Iterator

from modelpivot.models.facts import Disk, Facts, HostFacts
from modelpivot.models.frozen import Unread
from modelpivot.models.plan import Blocker
from modelpivot.models.size import say_bytes

NEEDED_INODES, FEW_INODES = 80_000, 200_000
"""An engine's environment has about 60,000 files, beside uv's cache with as many where they cannot be linked."""
GRAVE = {
    48: "double-bit memory errors",
    62: "an internal halt",
    63: "memory rows remapped",
    64: "memory rows that could not be remapped",
    74: "NVLink errors",
    79: "fell off the bus",
    94: "contained memory errors",
    95: "uncontained memory errors",
    119: "its firmware does not answer",
    120: "its firmware failed",
}
"""Xid codes after which a GPU should be looked at before it serves; others come from the program that ran."""


def host_blockers(facts: Facts) -> list[Blocker]:
    """An environments root on which nothing can be executed, or whose file system has no room for so many files."""
    disk = _environments(facts)
    if disk is None:
        return []
    remedy = "mount it otherwise, or point MODELPIVOT_ENVIRONMENTS_ROOT to another file system"
    blockers = []
    if disk.is_noexec:
        blockers.append(
            Blocker(
                code="DISK_NOEXEC",
                what=f"environments root {disk.path}",
                expected="a place to execute from",
                found=f"{disk.mount} is mounted noexec",
                remedy=remedy,
            )
        )
    if disk.free_inodes is not None and disk.free_inodes < NEEDED_INODES:
        found = f"{disk.free_inodes} free inodes on {disk.mount}"
        blockers.append(
            Blocker(
                code="DISK_INODES",
                what=f"environments root {disk.path}",
                expected=f"room for {NEEDED_INODES} files",
                found=found,
                remedy=remedy,
            )
        )
    return blockers


def host_warnings(facts: Facts) -> list[str]:
    """One sentence each."""
    return [*_xids(facts.host), *_slow_weights(facts), *_environment_root(facts), *_quota(facts.host)]


def _xids(host: HostFacts) -> Iterator[str]:
    if isinstance(host.xids, Unread) or isinstance(host.gpus, Unread):
        return
    by_pci = {gpu.pci: gpu.index for gpu in host.gpus.gpus}
    seen = dict.fromkeys((xid.pci, xid.code) for xid in host.xids if xid.code in GRAVE)
    for pci, code in seen:
        name = f"GPU {by_pci[pci]}" if pci in by_pci else f"the GPU at {pci}"
        yield f"{name} reported Xid {code} since boot ({GRAVE[code]}): look at it before it serves"


def _slow_weights(facts: Facts) -> Iterator[str]:
    disk = facts.host.disks[0] if facts.host.disks else None
    if isinstance(disk, Disk) and disk.is_network:
        yield f"weights lie on {disk.mount} ({disk.kind}), a network file system: starts and hashing go at its pace"


def _environment_root(facts: Facts) -> Iterator[str]:
    disk = _environments(facts)
    if disk is not None and disk.free_inodes is not None and NEEDED_INODES <= disk.free_inodes < FEW_INODES:
        yield f"{disk.mount} has room for {disk.free_inodes} files: an engine's environment and uv's cache take up to {FEW_INODES}"


def _environments(facts: Facts) -> Disk | None:
    """The disk of the environments root, where something must still be installed on it."""
    disk = facts.host.disks[1] if len(facts.host.disks) > 1 else None
    return disk if isinstance(disk, Disk) and not facts.engine.environment_proved else None


def _quota(host: HostFacts) -> Iterator[str]:
    for disk in host.disks:
        if isinstance(disk, Disk) and disk.quota_free_bytes is not None and disk.quota_free_bytes <= disk.free_bytes:
            yield f"on {disk.mount} this user's quota is the limit: it leaves {say_bytes(disk.quota_free_bytes)}"
            return
