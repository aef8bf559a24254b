"""What may go on a host that is known by its facts alone (`modelpivot cleanup --facts FILE`): weights and cache by their sizes. Pure."""

from collections.abc import Iterator

from modelpivot.models.facts import Disk, HostFacts, HubCache, StoredWeights
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.reclaim import Found, Holder, Known, Need, Part, ReclaimFacts, Root


def room_of_facts(host: HostConfig, facts: HostFacts) -> ReclaimFacts:
    """As far as these facts tell: no environments, no links, no open files but those that a command line names."""
    weights, cache = _root(host, facts), facts.hub_cache
    stored = [] if isinstance(facts.stored, Unread) else facts.stored
    found = [_weights(weights, facts, each) for each in stored]
    found += list(_cache(cache)) if isinstance(cache, HubCache) else []
    return ReclaimFacts(
        read_at=facts.read_at,
        roots=[weights],
        found=found,
        known=list(_known(facts, stored)),
        is_switch_open=facts.cutover is not None,
    )


def _root(host: HostConfig, facts: HostFacts) -> Root:
    disk = facts.disks[0] if facts.disks else None
    is_network = isinstance(disk, Disk) and disk.is_network
    device = disk.device if isinstance(disk, Disk) else 0
    path = str(host.weights_root)
    return Root(name="weights", path=path, real=path, device=device, inode=0, is_network=is_network)


def _weights(root: Root, facts: HostFacts, stored: StoredWeights) -> Found:
    name = str(stored.path).removeprefix(f"{root.real}/")
    is_ours, half = stored.state != "foreign", "half-fetched " if stored.state == "partial" else ""
    return Found(
        kind="weights",
        root=root,
        parts=[Part(name=name, digest="", files=0, size_bytes=stored.size_bytes, frees_bytes=stored.size_bytes)],
        what=f"{half}weights of {stored.repo} at {stored.commit[:12]}" if is_ours else f"{name}, a folder that modelpivot did not fetch",
        costs="fetching them again" if is_ours else "it for good: no manifest says where it came from",
        repo=stored.repo,
        commit=stored.commit,
        is_refetchable=is_ours,
        irreplaceable=stored.irreplaceable or ([] if is_ours else ["its weights"]),
        needs=[Need(by=release_id) for release_id in stored.used_by],
        holders=list(_holders(facts, stored)),
    )


def _holders(facts: HostFacts, stored: StoredWeights) -> Iterator[Holder]:
    """Whose command line names it."""
    listeners = [] if isinstance(facts.listeners, Unread) else facts.listeners
    for each in listeners:
        if each.pid is not None and str(stored.path) in each.command:
            yield Holder(pid=each.pid, command=each.command, unit=each.unit)


def _cache(cache: HubCache) -> Iterator[Found]:
    if cache.unreferenced_bytes:
        path = str(cache.path)
        yield Found(
            kind="cache",
            root=Root(name="hub cache", path=path, real=path, device=cache.filesystem, inode=0),
            parts=[Part(name="*/blobs", digest="", files=0, size_bytes=cache.unreferenced_bytes, frees_bytes=cache.unreferenced_bytes)],
            what="blobs of the Hub cache that nothing references",
            costs="nothing",
        )


def _known(facts: HostFacts, stored: list[StoredWeights]) -> Iterator[Known]:
    current = facts.current.id if facts.current else None
    for release_id in dict.fromkeys(each for one in stored for each in one.used_by):
        yield Known(id=release_id, roles=["current" if release_id == current else "previous"], idle_since=0.0)
