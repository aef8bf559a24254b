"""Weights that lie below the weights root: which are whole by their receipts, which are half, which are not ours, who shows them. Hashes nothing.

StoredWeights(path=/pool/weights/nvidia--Kimi-K2.5-NVFP4/4d7e..., state='partial', size_bytes=210000000000, partial_bytes=4100000000, used_by=[])
StoredWeights(path=/pool/weights/glm5-gguf, repo='', state='foreign', size_bytes=402000000000)
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from modelpivot.files import walk
from modelpivot.models.host_parts import StoredWeights
from modelpivot.models.release import Release
from modelpivot.weights.irreplaceable import find_irreplaceable
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.receipts import unproved_files

COMMIT = re.compile(r"[0-9a-f]{40}")


def read_stored(root: Path, releases: Iterable[Release]) -> list[StoredWeights]:
    """Every directory of weights, largest first; nothing where there is no root yet."""
    if not root.is_dir():
        return []
    used = list(releases)
    found = [_read_one(path, used) for path in _directories(root)]
    return sorted(found, key=lambda stored: stored.size_bytes, reverse=True)


def _directories(root: Path) -> Iterator[Path]:
    """Commits below `<org>--<name>/`, and whatever else somebody put there as a folder of its own."""
    for path in sorted(root.iterdir()):
        if not path.is_dir() or path.is_symlink() or path.name.startswith("."):
            continue
        commits = [each for each in sorted(path.iterdir()) if COMMIT.fullmatch(each.name) and each.is_dir()]
        yield from commits or [path]


def _read_one(path: Path, releases: Iterable[Release]) -> StoredWeights:
    manifest = read_manifest(path)
    folder = WeightsFolder(path)
    size = folder_bytes(path)
    used_by = [release.id for release in releases if release.weights_dir == path]
    if manifest is None:
        return StoredWeights(
            path=path,
            repo="",
            commit="",
            size_bytes=size,
            state="foreign",
            used_by=used_by,
            filesystem=path.stat().st_dev,
            irreplaceable=find_irreplaceable(path, None),
        )
    return StoredWeights(
        path=path,
        repo=manifest.repo,
        commit=manifest.commit,
        size_bytes=size,
        state="partial" if unproved_files(folder, manifest) else "complete",
        partial_bytes=folder_bytes(folder.partials),
        used_by=used_by,
        filesystem=path.stat().st_dev,
        irreplaceable=find_irreplaceable(path, manifest),
    )


def folder_bytes(folder: Path) -> int:
    """Bytes that a folder takes on its disk, hard links counted once; what cannot be read counts as nothing."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for parent, _, names in walk(folder):
        for name in names:
            try:
                stat = os.lstat(f"{parent}/{name}")
            except OSError:
                continue
            if (stat.st_dev, stat.st_ino) not in seen:
                seen.add((stat.st_dev, stat.st_ino))
                total += stat.st_blocks * 512
    return total
