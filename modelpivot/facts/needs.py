"""Which releases a host still needs, and every path that they name: directories, words of their command lines, all that their views link to."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from modelpivot.facts.open_files import paths_in
from modelpivot.files import read_model
from modelpivot.models.plan import Plan
from modelpivot.models.reclaim import Known, Role
from modelpivot.models.release import Release, ReleaseBook
from modelpivot.models.source import REPO
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases, read_book
from modelpivot.state.runs import is_run_alive, list_runs

MOST_HOPS = 40


class Named(NamedTuple):
    """One real path that something names."""

    path: str
    by: str


class Needs(NamedTuple):
    """Who is known here, and what they name."""

    known: list[Known]
    named: list[Named]


def read_needs(state: StatePaths, hub_cache: Path) -> Needs:
    """Every release on disk and every candidate of a living run. UsageError when a record of these cannot be understood: nothing may go then."""
    releases, planned = list_releases(state), list(_planned(state))
    roles = _roles(state, releases)
    known = [_known(state, release, roles.get(release.id, ["retired"])) for release in releases]
    known += [Known(id=f"run {run_id}", roles=["run"], idle_since=0.0) for run_id, _ in planned]
    named = [Named(path, release.id) for release in releases for path in paths_of(state, release, hub_cache)]
    named += [Named(path, f"run {run_id}") for run_id, release in planned for path in paths_of(state, release, hub_cache)]
    return Needs(known, list(dict.fromkeys(named)))


def _planned(state: StatePaths) -> Iterator[tuple[str, Release]]:
    for run in list_runs(state):
        plan = read_model(run.plan, Plan) if is_run_alive(run) else None
        if plan is not None and plan.candidate is not None:
            yield run.id, plan.candidate


def _roles(state: StatePaths, releases: list[Release]) -> dict[str, list[Role]]:
    book, cutover = read_book(state), read_cutover(state)
    named: list[tuple[str | None, Role]] = [
        (book.current, "current"),
        (book.previous, "previous"),
        (_candidate(book, releases), "candidate"),
    ]
    named += [(cutover.from_release, "switch"), (cutover.to_release, "switch")] if cutover else []
    roles: dict[str, list[Role]] = {}
    for release_id, role in named:
        if release_id:
            roles.setdefault(release_id, []).append(role)
    return roles


def _candidate(book: ReleaseBook, releases: list[Release]) -> str | None:
    """The newest of those that never served here: it may be staged and wait for its cutover."""
    fresh = [release.id for release in releases if release.id not in book.proved and release.id not in book.retired]
    return fresh[-1] if fresh else None


def _known(state: StatePaths, release: Release, roles: list[Role]) -> Known:
    retired_at = read_book(state).retired.get(release.id, 0.0)
    frozen_at = state.release(release.id).release.stat().st_mtime
    return Known(id=release.id, roles=roles, idle_since=max(retired_at, frozen_at), is_adopted=release.origin == "adopted")


def paths_of(state: StatePaths, release: Release, hub_cache: Path) -> Iterator[str]:
    """Real paths of everything that a release names, hop by hop where links lead on."""
    own = state.release(release.id).root
    yield from hops(str(own))
    for folder in (release.weights_dir, release.view_dir, release.environment_dir, release.start.working_directory):
        yield from hops(str(folder))
    for word in [*release.start.argv, *release.start.environment.values()]:
        for path in paths_in(word):
            yield from hops(path)
    for link in links_below(release.view_dir):
        yield from hops(link)
    if release.origin == "adopted" and (repo := REPO.fullmatch(release.repo)):
        yield from hops(str(hub_cache / f"models--{repo[0].replace('/', '--')}"))


def links_below(folder: Path) -> Iterator[str]:
    """Every link in a folder, at any depth; none is followed, and what cannot be read is passed over."""
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as there:
            for entry in there:
                if entry.is_symlink():
                    yield entry.path
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def hops(path: str) -> Iterator[str]:
    """A path, and wherever it leads as a link, one real place after the other."""
    for _ in range(MOST_HOPS):
        parent, name = os.path.split(path.rstrip("/"))
        place = f"{os.path.realpath(parent).rstrip('/')}/{name}"
        yield place
        if not os.path.islink(place):  # noqa: PTH114
            return
        path = os.path.join(os.path.dirname(place), os.readlink(place))  # noqa: PTH115,PTH118,PTH120


def is_within(path: str, folder: str) -> bool:
    """Whether a path is the folder or lies below it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
