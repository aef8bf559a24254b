"""What lies below the configured roots and could go, each with all that speaks against it. Changes nothing; hashes nothing.

Found(kind='weights', root=Root(name='weights', real='/pool/weights'), parts=[Part(name='glm5-gguf', frees_bytes=402000000000)], irreplaceable=[...])
"""

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from modelpivot.facts.disks import read_disk
from modelpivot.facts.hub_cache import hub_cache_path
from modelpivot.facts.inventory import read_inventory
from modelpivot.facts.needs import Needs, hops, links_below, read_needs
from modelpivot.facts.open_files import read_open_files
from modelpivot.facts.reclaimable_cache import cache_subjects
from modelpivot.facts.reclaimable_weights import weights_subjects
from modelpivot.facts.subjects import Subject, Surroundings, look, read_root
from modelpivot.models.facts import Disk
from modelpivot.models.host import HostConfig
from modelpivot.models.reclaim import ReclaimFacts, Root
from modelpivot.models.release import Release
from modelpivot.models.spelled import spell, unspell
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.reclaimed import TRASH, ReclaimRecord, read_unfinished
from modelpivot.state.releases import list_releases, read_book


def read_reclaimable(host: HostConfig, state: StatePaths) -> ReclaimFacts:
    """Everything that could go. UsageError when the state on disk cannot be understood: nothing can be said to be free then."""
    roots = read_roots(host)
    by_name: dict[str, Root] = {root.name: root for root in roots}
    needs = read_needs(state, Path(os.path.realpath(cache_of(host))))
    around = Surroundings(roots=roots, open_files=read_open_files(), named=needs.named, links=list(_links(by_name)))
    subjects = [
        *_unfinished(state, roots),
        *(cache_subjects(by_name["hub cache"], around.links) if "hub cache" in by_name else ()),
        *(_release_subjects(state, by_name["state"], needs) if "state" in by_name else ()),
        *(_environment_subjects(host, by_name["environments"]) if "environments" in by_name else ()),
        *(weights_subjects(by_name["weights"]) if "weights" in by_name else ()),
    ]
    return ReclaimFacts(
        read_at=time.time(),
        roots=roots,
        found=[look(subject, around) for subject in subjects],
        known=needs.known,
        unseen=around.open_files.unseen,
        is_switch_open=read_cutover(state) is not None,
        unproved=[record.what for record in read_unfinished(state) if record.phase == "moving" and _is_aside(record)],
    )


def cache_of(host: HostConfig) -> Path:
    """The Hub library's cache: the host's, else where the library keeps it for this user."""
    return host.hub_cache or hub_cache_path()


def read_roots(host: HostConfig) -> list[Root]:
    """The configured roots that are there."""
    configured = {
        "weights": host.weights_root,
        "environments": host.environments_root,
        "state": host.state_dir,
        "hub cache": cache_of(host),
    }
    found = (read_root(name, path, is_network=_is_network(path)) for name, path in configured.items())
    return [root for root in found if root is not None]


def _is_network(path: Path) -> bool:
    disk = read_disk(path)
    return isinstance(disk, Disk) and disk.is_network


def _links(roots: Mapping[str, Root]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every link below the weights root and in the snapshots of the Hub cache, with all places that it leads to."""
    folders = [Path(unspell(roots["weights"].real))] if "weights" in roots else []
    folders += sorted(Path(unspell(roots["hub cache"].real)).glob("*/snapshots")) if "hub cache" in roots else []
    for folder in folders:
        yield from ((link, tuple(hops(link))[1:]) for link in links_below(folder))


def _is_aside(record: ReclaimRecord) -> bool:
    return any(os.path.lexists(Path(unspell(record.root)) / TRASH / part.trash) for part in record.parts)


def _unfinished(state: StatePaths, roots: list[Root]) -> Iterator[Subject]:
    """What a reclaim that was killed had moved aside and proved to be what was agreed to."""
    for record in read_unfinished(state):
        root = next((root for root in roots if root.real == record.root), None)
        folder = Path(unspell(record.root)) / TRASH
        names = [f"{TRASH}/{part.trash}" for part in record.parts if os.path.lexists(folder / part.trash)]
        if root is not None and names and record.phase == "going":
            what = f"the rest of {record.what}, which an interrupted reclaim had begun to delete"
            yield Subject("unfinished", root, names, what=what, costs="nothing: it was agreed to", idle_since=0.0)


def _release_subjects(state: StatePaths, root: Root, needs: Needs) -> Iterator[Subject]:
    """Folders of releases that are neither current, previous nor candidate, and the kernels in them."""
    over = {known.id: known for known in needs.known if known.roles == ["retired"]}
    for release in list_releases(state):
        known, name = over.get(release.id), f"releases/{release.id}"
        if known is None or release.id != os.path.basename(release.id):  # noqa: PTH119
            continue
        if state.release(release.id).caches.is_dir():
            what, costs = f"compiled kernels of {release.id}", "compiling them again at its next start"
            yield Subject("kernels", root, [f"{name}/caches"], what=what, costs=costs, idle_since=known.idle_since)
        what, costs = f"view, logs and kernels of {release.id}", f"no way back to {release.id} but running its recipe again"
        yield Subject("views", root, [name], what=what, costs=costs, idle_since=known.idle_since, repo=release.repo, commit=release.commit)


def _environment_subjects(host: HostConfig, root: Root) -> Iterator[Subject]:
    """Every environment of ours; which are surplus is the plan's business."""
    releases, retired = list_releases(StatePaths(host.state_dir)), read_book(StatePaths(host.state_dir)).retired
    for entry in read_inventory(host):
        state = "" if entry.is_proved else ", never finished or changed since"
        idle = max((retired.get(each.id, 0.0) for each in _users(releases, entry.path)), default=0.0)
        yield Subject(
            "environments",
            root,
            [entry.name],
            what=f"environment {spell(entry.name)} ({entry.engine} {entry.engine_version}{state})",
            costs="installing it again; quick while uv's cache holds its packages",
            guards=[f".{entry.name}.lock"],
            idle_since=max(idle, entry.made_at),
            made_at=entry.made_at if entry.is_proved else 0.0,
        )


def _users(releases: list[Release], path: Path) -> list[Release]:
    return [release for release in releases if os.path.realpath(release.environment_dir) == os.path.realpath(path)]
