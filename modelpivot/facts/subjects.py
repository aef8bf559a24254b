"""What could go, looked into: read by descriptors, with who holds it, who names it, and which links lead into it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from modelpivot.facts.mounts import mounts_below
from modelpivot.facts.needs import Named, is_within
from modelpivot.facts.open_files import OpenFiles
from modelpivot.facts.trees import Entry, TreeRefused, newest_change, opened, opened_parent, read_tree, summarize
from modelpivot.models.manifest import Manifest
from modelpivot.models.reclaim import Found, Holder, Kind, Need, Root
from modelpivot.models.spelled import spell, unspell
from modelpivot.weights.layout import OWN, is_weights

NOT_LOOKED_INTO = (OWN, ".cache")
"""Below a directory of weights: what we, and the Hub library, keep beside them."""


@dataclass(frozen=True)
class Subject:
    """One thing that could go, before it is looked into."""

    kind: Kind
    root: Root
    names: Sequence[str]
    """Of its parts, below the root, as the file system has them."""
    what: str
    costs: str
    repo: str = ""
    commit: str = ""
    manifest: Manifest | None = None
    is_refetchable: bool = True
    is_pinnable: bool = False
    guards: Sequence[str] = ()
    """Files beside it that are held while somebody works on it."""
    idle_since: float | None = None
    """None: its newest change."""
    made_at: float = 0.0


@dataclass(frozen=True)
class Surroundings:
    """What is held, named and linked on this host."""

    roots: Sequence[Root]
    open_files: OpenFiles
    named: Sequence[Named] = ()
    links: Sequence[tuple[str, tuple[str, ...]]] = field(default=())
    """A link, and every place that it leads to."""


def look(subject: Subject, around: Surroundings) -> Found:
    """The subject with all that speaks against it; what cannot be read whole says so in `problem`."""
    trees, problem = _read_parts(subject)
    paths = [f"{unspell(subject.root.real)}/{name}" for name in subject.names]
    weights = [entry for tree in trees[:1] for entry in tree] if subject.kind == "weights" else []
    return Found(
        kind=subject.kind,
        root=subject.root,
        parts=[summarize(name, tree) for name, tree in zip(subject.names, trees, strict=True)],
        what=subject.what,
        costs=subject.costs,
        repo=subject.repo,
        commit=subject.commit,
        is_refetchable=subject.is_refetchable,
        irreplaceable=find_unnamed(weights, subject.manifest),
        needs=_needs(paths, around),
        holders=_holders(subject, paths, trees, around),
        linked_from=[spell(link) for link, places in around.links if _leads_into(link, places, paths)],
        problem=problem or _mounted(paths) or _other_root(paths, around.roots),
        idle_since=_newest(trees) if subject.idle_since is None else subject.idle_since,
        is_pinnable=subject.is_pinnable,
        made_at=subject.made_at,
    )


def find_unnamed(entries: Sequence[Entry], manifest: Manifest | None) -> list[str]:
    """Weights in a tree that its manifest does not name; without a manifest all of them."""
    known = {file.path for file in manifest.files} if manifest else set()
    files = [entry.path for entry in _foreign_to_us(entries) if entry.kind == "file" and is_weights(entry.path)]
    return sorted(spell(path) for path in files if path not in known)


def _newest(trees: Sequence[list[Entry]]) -> float:
    return max((newest_change(_foreign_to_us(tree)) for tree in trees), default=0.0)


def _foreign_to_us(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.path.split("/")[0] not in NOT_LOOKED_INTO] or list(entries)


def _read_parts(subject: Subject) -> tuple[list[list[Entry]], str]:
    trees: list[list[Entry]] = []
    problem = subject.root.problem
    with opened(unspell(subject.root.real), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as root:
        for name in subject.names:
            try:
                with opened_parent(root, name) as (parent, last):
                    trees.append(read_tree(parent, last))
            except TreeRefused as error:
                trees.append([])
                problem = problem or error.message
            except OSError as error:
                trees.append([])
                problem = problem or f"{spell(name)}: {error.strerror}"
    return trees, problem


def _needs(paths: Sequence[str], around: Surroundings) -> list[Need]:
    """Who names it, something in it, or a folder around it; a folder around a whole root says nothing."""
    roots = [unspell(root.real) for root in around.roots]
    needs = {}
    for named in around.named:
        is_in_it = any(is_within(named.path, path) for path in paths)
        is_around = any(is_within(path, named.path) for path in paths)
        if is_in_it or (is_around and not any(is_within(root, named.path) for root in roots)):
            needs[named.by] = Need(by=named.by)
    return list(needs.values())


def _holders(subject: Subject, paths: Sequence[str], trees: Sequence[list[Entry]], around: Surroundings) -> list[Holder]:
    found = [holder for path, tree in zip(paths, trees, strict=True) for holder in around.open_files.holders(tree, path)]
    found += [holder for guard in subject.guards for holder in around.open_files.holders([], f"{unspell(subject.root.real)}/{guard}")]
    return list({holder.pid: holder for holder in found}.values())


def _leads_into(link: str, places: Sequence[str], paths: Sequence[str]) -> bool:
    is_inside = any(is_within(link, path) for path in paths)
    return not is_inside and any(is_within(place, path) for place in places for path in paths)


def _mounted(paths: Sequence[str]) -> str:
    points = [point for path in paths for point in mounts_below(path)]
    return f"{spell(points[0])} is a mount point" if points else ""


def _other_root(paths: Sequence[str], roots: Sequence[Root]) -> str:
    inside = [root for root in roots if any(is_within(unspell(root.real), path) for path in paths)]
    return f"the {inside[0].name} root {inside[0].path} lies in it" if inside else ""


def read_root(name: str, path: Path, *, is_network: bool) -> Root | None:
    """A configured root as it stands; None: it is not there yet."""
    try:
        real = os.path.realpath(path)
        found = os.stat(real)  # noqa: PTH116
        flags = os.statvfs(real).f_flag
    except FileNotFoundError:
        return None
    problem = "its file system is mounted read-only" if flags & os.ST_RDONLY else ""
    problem = problem or ("" if os.access(real, os.W_OK | os.X_OK) else "this user may not write to it")
    values = {"name": name, "path": spell(str(path)), "real": spell(real), "device": found.st_dev, "inode": found.st_ino}
    return Root.model_validate({**values, "problem": problem, "is_network": is_network})
