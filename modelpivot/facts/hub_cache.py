"""The Hub library's own cache, and what in it no snapshot references: orphans of interrupted downloads, blobs of revisions that are gone.

<cache>/models--<org>--<name>/blobs/<digest>             the bytes
                              snapshots/<commit>/<path>  links to blobs
                              blobs/<digest>.<id>.incomplete
"""

import os
from collections.abc import Iterator
from pathlib import Path

from modelpivot.facts.stored import folder_bytes
from modelpivot.files import walk
from modelpivot.models.frozen import Unread
from modelpivot.models.host_parts import HubCache


def hub_cache_path() -> Path:
    """Where the Hub library keeps its cache for this user: HF_HUB_CACHE, HF_HOME/hub, or the default."""
    if named := os.environ.get("HF_HUB_CACHE"):
        return Path(named)
    home = os.environ.get("HF_HOME") or str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface")
    return Path(home) / "hub"


def read_hub_cache(path: Path | None = None) -> HubCache | Unread | None:
    """Size, and bytes that nothing references; None: there is no cache."""
    path = path or hub_cache_path()
    try:
        if not path.is_dir():
            return None
        repos = [each for each in sorted(path.iterdir()) if each.is_dir() and each.name.startswith(("models--", "datasets--", "spaces--"))]
        return HubCache(
            path=path,
            size_bytes=sum(folder_bytes(repo) for repo in repos),
            repos=len(repos),
            unreferenced_bytes=sum(size for repo in repos for size in unreferenced(repo)),
            filesystem=path.stat().st_dev,
        )
    except OSError as error:
        return Unread(unread=f"{path}: {error.strerror or error}")


def unreferenced(repo: Path) -> Iterator[int]:
    """Bytes of each blob that no snapshot links to."""
    linked = {(stat.st_dev, stat.st_ino) for stat in _linked(repo / "snapshots")}
    for blob in (repo / "blobs").glob("*"):
        stat = blob.lstat()
        if (stat.st_dev, stat.st_ino) not in linked:
            yield stat.st_blocks * 512


def _linked(snapshots: Path) -> Iterator[os.stat_result]:
    for parent, _, names in walk(snapshots):
        for name in names:
            try:
                yield (Path(parent) / name).stat()
            except OSError:
                continue
