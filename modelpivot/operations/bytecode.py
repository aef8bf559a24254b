"""Compiled modules shared between environments: uv links the sources of a package from one cache, and Python would compile them once for each.

Python trusts a `.pyc` by the time and size of its source, and writes it by rename: where two environments hold the very same source (one
inode), a hard link to the other's `.pyc` is as good as its own, and saves time and disk (100 MB for vLLM).
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from modelpivot.facts.environments import proof_file
from modelpivot.facts.records import find_site_packages
from modelpivot.files import walk

CACHE = "__pycache__"


def share_bytecode(environment: Path, root: Path) -> int:
    """Link what the proved environments below `root` compiled of the same sources; how many modules. A file system without links: none."""
    site, shared = find_site_packages(environment), 0
    siblings = [path for path in sorted(root.iterdir()) if path != environment and proof_file(path).exists()]
    for sibling in (find_site_packages(path) for path in siblings):
        if site and sibling and sibling.parent.name == site.parent.name:
            shared += sum(_link(sibling, site, folder, name) for folder, name in _compiled(sibling))
    return shared


def _compiled(site: Path) -> Iterator[tuple[str, str]]:
    """Folder below `site` and file name of every compiled module."""
    for folder, _, files in walk(site):
        if folder.endswith(CACHE):
            yield from ((os.path.relpath(folder, site), name) for name in files if name.endswith(".pyc"))


def _link(sibling: Path, site: Path, folder: str, name: str) -> bool:
    source = Path(folder).parent / f"{name.partition('.')[0]}.py"
    with contextlib.suppress(OSError):
        theirs, ours = (sibling / source).stat(), (site / source).stat()
        if (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino):
            (site / folder).mkdir(mode=0o755, exist_ok=True)
            os.link(sibling / folder / name, site / folder / name)
            return True
    return False
