"""What nothing references in the Hub library's cache: blobs that no link leads to, and revisions that no name of the repository stands for.

<cache>/models--<org>--<name>/refs/main                 the commit that `main` stood for when it was fetched
                              snapshots/<commit>/<path> links to blobs
                              blobs/<digest>, blobs/<digest>.<id>.incomplete
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from modelpivot.facts.needs import is_within
from modelpivot.facts.subjects import Subject
from modelpivot.files import walk
from modelpivot.models.reclaim import Root
from modelpivot.models.spelled import spell, unspell

PREFIXES = ("models--", "datasets--", "spaces--")
Links = Sequence[tuple[str, tuple[str, ...]]]


def cache_subjects(root: Root, links: Links) -> Iterator[Subject]:
    """Unreferenced blobs one by one, and each revision without a name together with the blobs that only it references."""
    real = unspell(root.real)
    referenced: dict[str, set[str]] = {}
    for link, places in links:
        for place in places:
            referenced.setdefault(place, set()).add(link)
    for repo in sorted(Path(real).iterdir()):
        if repo.name.startswith(PREFIXES) and repo.is_dir() and not repo.is_symlink():
            yield from _of_repository(root, real, repo, referenced)


def _of_repository(root: Root, real: str, repo: Path, referenced: dict[str, set[str]]) -> Iterator[Subject]:
    blobs = [str(blob) for blob in sorted((repo / "blobs").glob("*")) if blob.is_file() and not blob.is_symlink()]
    title = spell(repo.name.partition("--")[2].replace("--", "/"))
    for blob in blobs:
        if blob not in referenced:
            is_half = blob.endswith(".incomplete")
            what = f"{'interrupted download' if is_half else 'blob'} of {title} that nothing references"
            yield Subject("cache", root, [os.path.relpath(blob, real)], what=what, costs="nothing", repo=title)
    for snapshot in _nameless(repo):
        own = [blob for blob in blobs if blob in referenced and all(is_within(link, str(snapshot)) for link in referenced[blob])]
        names = [os.path.relpath(path, real) for path in (str(snapshot), *own)]
        what = f"revision {spell(snapshot.name[:12])} of {title} in the Hub cache, which no branch or tag there stands for"
        costs = "fetching it again, for whoever uses it by its commit"
        yield Subject("cache", root, names, what=what, costs=costs, repo=title, commit=spell(snapshot.name), is_pinnable=True)


def _nameless(repo: Path) -> list[Path]:
    files = (Path(parent, name) for parent, _, names in walk(repo / "refs") for name in names)
    refs = {path.read_text(errors="replace").strip() for path in files if path.is_file()}
    there = sorted((repo / "snapshots").glob("*"))
    return [path for path in there if path.is_dir() and not path.is_symlink() and path.name not in refs and not path.name.startswith(".")]
