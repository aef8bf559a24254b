"""Every environment below the environments root: what it is, whether its proof holds, who needs it, what it takes on disk."""

import os
from pathlib import Path

from modelpivot.errors import UsageError
from modelpivot.facts.environments import read_environment
from modelpivot.facts.resolution import KEPT
from modelpivot.facts.users import find_users
from modelpivot.files import read_model, walk
from modelpivot.models.engine import Resolution
from modelpivot.models.engine_change import EnvironmentEntry
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases

BLOCK_BYTES = 512
"""Unit of st_blocks."""


def read_inventory(host: HostConfig) -> list[EnvironmentEntry]:
    """In no order; a folder that is no environment of ours is passed over."""
    releases = list_releases(StatePaths(host.state_dir))
    found = [(path, _read_kept(path)) for path in sorted(host.environments_root.glob("*")) if path.is_dir()]
    return [_entry(host, path, kept, releases) for path, kept in found if kept]


def _read_kept(path: Path) -> Resolution | None:
    try:
        return read_model(path / KEPT, Resolution)
    except UsageError:
        return None


def _entry(host: HostConfig, path: Path, kept: Resolution, releases: list[Release]) -> EnvironmentEntry:
    own, shared = measure(path)
    return EnvironmentEntry(
        name=path.name,
        path=path,
        engine=kept.engine,
        engine_version=kept.engine_version,
        packages=len(kept.pins),
        is_proved=read_environment(host, kept) is not None,
        made_at=(path / KEPT).stat().st_mtime,
        own_bytes=own,
        shared_bytes=shared,
        releases=sorted(release.id for release in releases if release.environment_dir == path),
        processes=sorted(find_users(path)),
    )


def measure(path: Path) -> tuple[int, int]:
    """Bytes on disk of files that only this folder names, and of those that others (uv's cache, other environments) name too."""
    own = shared = 0
    for folder, _, files in walk(path):
        for name in files:
            found = os.lstat(f"{folder}/{name}")
            size = found.st_blocks * BLOCK_BYTES
            own, shared = (own + size, shared) if found.st_nlink == 1 else (own, shared + size)
    return own, shared
