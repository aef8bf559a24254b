"""How old and new share a disk: beside each other, or what would have to go first. Pure; bytes. Nothing goes without a person's word."""

from collections.abc import Iterator, Sequence

from modelpivot.models.engine import Engine
from modelpivot.models.facts import Disk, Facts, StoredWeights
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.plan import Blocker, Removable
from modelpivot.models.release import Release
from modelpivot.models.size import say_bytes
from modelpivot.plans.space import full_disk, space_needs


def missing_room(facts: Facts, engine: Engine, host: HostConfig) -> int:
    """Bytes that the weights' file system lacks; 0: it holds both."""
    disk = facts.host.disks[0] if facts.host.disks else None
    if not isinstance(disk, Disk):
        return 0
    pairs = zip(space_needs(facts, engine), facts.host.disks, strict=False)
    needed = sum(need.size_bytes for need, other in pairs if isinstance(other, Disk) and other.device == disk.device)
    return max(0, needed + host.disk_reserve_bytes - disk.free_bytes) if needed else 0


def removables(facts: Facts, candidate: Release | None) -> list[Removable]:
    """What lies on the weights' file system and could go, what hurts least first; never the candidate's own."""
    disk = facts.host.disks[0] if facts.host.disks else None
    if not isinstance(disk, Disk):
        return []
    own = candidate.weights_dir if candidate else None
    stored = [] if isinstance(facts.host.stored, Unread) else [each for each in facts.host.stored if each.path != own]
    here = [each for each in stored if each.filesystem == disk.device]
    return [*_cache(facts, disk), *_unused(here), *_old(here, facts.host.current), *_serving(here, facts.host.current)]


def name_room(blockers: Sequence[Blocker], room: Sequence[Removable], lacking: int, facts: Facts) -> list[Blocker]:
    """The blockers; the remedy of a full weights disk with what lies there and could go. As they are where nothing of ours could."""
    disk = facts.host.disks[0] if facts.host.disks else None
    if not isinstance(disk, Disk) or not lacking or not room:
        return list(blockers)
    listed = "; ".join(f"{each.what} at {each.path}, {say_bytes(each.size_bytes)} ({each.costs})" for each in enough(room, lacking))
    more = f"; what could make room: {listed}: `modelpivot reclaim` shows what of it may go"
    full = ("DISK_FULL", full_disk(disk))
    return [each.model_copy(update={"remedy": each.remedy + more}) if (each.code, each.what) == full else each for each in blockers]


def enough(room: Sequence[Removable], lacking: int) -> list[Removable]:
    """The first of them that make enough room together; all, where all are not enough."""
    chosen, total = [], 0
    for each in room:
        if total >= lacking:
            break
        chosen.append(each)
        total += each.size_bytes
    return chosen


def say_strategy(facts: Facts, engine: Engine, host: HostConfig, room: Sequence[Removable]) -> str:
    """One sentence."""
    disk = facts.host.disks[0] if facts.host.disks else None
    if not isinstance(disk, Disk):
        return ""
    coming = space_needs(facts, engine)[0].size_bytes
    lacking = missing_room(facts, engine, host)
    if not lacking:
        return (
            f"stage first: {say_bytes(coming)} of weights come beside what serves; {disk.mount} has {say_bytes(disk.free_bytes)} free"
            if coming
            else "stage first: all weights are on this host already"
        )
    could = sum(each.size_bytes for each in room)
    end = (
        f"{say_bytes(could)} there could go" if could >= lacking else f"even all of the {say_bytes(could)} that could go there would not do"
    )
    return f"not stage first as it stands: {disk.mount} lacks {say_bytes(lacking)} to hold old and new side by side; {end}"


def _cache(facts: Facts, disk: Disk) -> Iterator[Removable]:
    cache = facts.host.hub_cache
    if cache is None or isinstance(cache, Unread) or cache.filesystem != disk.device or not cache.unreferenced_bytes:
        return
    yield Removable(
        path=str(cache.path), what="blobs of the Hub cache that nothing references", size_bytes=cache.unreferenced_bytes, costs="nothing"
    )


def _unused(stored: Sequence[StoredWeights]) -> Iterator[Removable]:
    """No release shows them, and they are ours."""
    for each in stored:
        if not each.used_by and each.state != "foreign":
            what = f"{'half-fetched' if each.state == 'partial' else 'unused'} weights of {each.repo}"
            yield Removable(path=str(each.path), what=what, size_bytes=each.size_bytes, costs="fetching them again")


def _old(stored: Sequence[StoredWeights], current: Release | None) -> Iterator[Removable]:
    for each in stored:
        if each.used_by and (current is None or current.id not in each.used_by):
            names = ", ".join(each.used_by)
            yield Removable(path=str(each.path), what=f"weights of {names}", size_bytes=each.size_bytes, costs=f"no way back to {names}")


def _serving(stored: Sequence[StoredWeights], current: Release | None) -> Iterator[Removable]:
    """The last resort, and foreign folders, of which nobody here knows whether they are needed."""
    for each in stored:
        if current is not None and current.id in each.used_by:
            costs = "nothing serves until the new one does, and there is no way back"
            yield Removable(path=str(each.path), what=f"weights of {current.id}, which serves", size_bytes=each.size_bytes, costs=costs)
        elif each.state == "foreign" and not each.used_by:
            costs = "not made by modelpivot: look who needs it"
            yield Removable(path=str(each.path), what="a folder of weights", size_bytes=each.size_bytes, costs=costs)
