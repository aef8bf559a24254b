"""Let one thing go for good: written down, moved aside, proved to be what was agreed to and held by nobody, then deleted. Needs the host's lock.

Killed at any moment it leaves no half thing under its own name: what was not proved yet is put back by the next reclaim, the rest is deleted by it.
"""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from modelpivot.errors import PivotError, PreconditionError
from modelpivot.facts.mounts import mounts_below
from modelpivot.facts.open_files import read_open_files
from modelpivot.facts.trees import Entry, TreeRefused, digest_tree
from modelpivot.models.event import Tell
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import ManifestFile
from modelpivot.models.reclaim import Found, Gone, Item, Kind, Root
from modelpivot.models.spelled import spell, unspell
from modelpivot.operations.trash import Trash, opened_trash
from modelpivot.state.paths import StatePaths
from modelpivot.state.reclaimed import TRASH, Aside, ReclaimRecord, drop_record, new_record_id, read_unfinished, write_record
from modelpivot.state.releases import drop_retired, forget_release, read_release
from modelpivot.supervisors.choose import choose_supervisor
from modelpivot.weights.irreplaceable import read_irreplaceable
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import read_manifest


class Stays(PreconditionError):
    """It is not, or no longer, what was agreed to; it was left where it lay."""


@dataclass(frozen=True)
class Reclaiming:
    """What every item of one reclaim shares."""

    host: HostConfig
    state: StatePaths
    run_id: str
    tell: Tell
    given_up: Collection[str] = ()
    """Releases that a person asked to stop for good."""


def reclaim_item(job: Reclaiming, item: Item) -> Gone:
    """Gone, with the bytes that this measured free; or why it stays. Never raises for what the disk says of this one thing."""
    state, found = job.state, item.found
    gone = Gone(id=item.id, path=found.path, what=found.what, promised_bytes=found.frees_bytes, freed_bytes=0)
    try:
        with opened_trash(found.root) as trash:
            before = trash.free_bytes()
            record = _find_record(state, found) if found.kind == "unfinished" else _set_aside(job, trash, found)
            _let_go(job, record)
            job.tell("log", f"{found.path}: moved aside and proved; deleting {found.parts[0].files} files")
            left = _delete(trash, record)
            freed = trash.free_bytes() - before
            write_record(state, record.model_copy(update={"phase": "going" if left else "gone", "freed_bytes": freed, "at": time.time()}))
            _tidy(trash, found.kind, found.name)
    except (PivotError, OSError) as error:
        return gone.model_copy(update={"problem": str(getattr(error, "message", error))})
    return gone.model_copy(update={"freed_bytes": freed, "problem": _say_left(left)})


def settle_interrupted(state: StatePaths, roots: Sequence[Root]) -> list[str]:
    """What a killed reclaim had moved aside and not proved lies under its own name again, and what it had deleted is on record as gone.

    What cannot be put back, a sentence each. Nothing to do without any; what is only half deleted waits for `reclaim_item`.
    """
    problems = []
    for record in list(read_unfinished(state)):
        root = next((root for root in roots if root.real == record.root), None)
        if root is None:
            problems.append(f"{record.root}, from which {record.what} was moved aside, is no root of this host any more")
            continue
        with opened_trash(root) as trash:
            problems += _settle(state, trash, record)
    for root in roots:
        if not root.problem and os.path.lexists(f"{unspell(root.real)}/{TRASH}"):
            # opened and let go of: an empty one is removed
            with opened_trash(root):
                pass
    return problems


def _settle(state: StatePaths, trash: Trash, record: ReclaimRecord) -> list[str]:
    if record.phase == "moving":
        problems = [why for part in record.parts if (why := trash.put_back(part))]
        if not problems:
            drop_record(state, record)
        return problems
    if not any(trash.has(part) for part in record.parts):
        write_record(state, record.model_copy(update={"phase": "gone"}))
        _tidy(trash, record.kind, record.parts[0].name)
    return []


def _set_aside(job: Reclaiming, trash: Trash, found: Found) -> ReclaimRecord:
    """Every part in the trash, proved; Stays, with all of it put back, when one is not what was agreed to, or is held."""
    state, record = job.state, _new_record(job, trash, found)
    write_record(state, record)
    try:
        for part in record.parts:
            trash.take(part)
        for part in record.parts:
            _prove(trash, found, part)
    except BaseException:
        if not [why for part in record.parts if (why := trash.put_back(part))]:
            drop_record(state, record)
        raise
    proved = record.model_copy(update={"phase": "going"})
    write_record(state, proved)
    return proved


def _new_record(job: Reclaiming, trash: Trash, found: Found) -> ReclaimRecord:
    """What will be known of it afterwards. Stays when it changed since it was planned: then it is not even moved."""
    record_id = new_record_id(found.kind)
    parts = [Aside(name=part.name, digest=part.digest, trash=f"{record_id}.{number}") for number, part in enumerate(found.parts)]
    trees = [_read_alike(trash, part, f"{unspell(found.root.real)}/{unspell(part.name)}") for part in parts]
    return ReclaimRecord(
        id=record_id,
        kind=found.kind,
        what=found.what,
        root=found.root.real,
        parts=parts,
        repo=found.repo,
        commit=found.commit,
        files=list(_files(found, trees[0])) if found.kind == "weights" else [],
        release=read_release(job.state, Path(unspell(found.name)).name) if found.kind == "views" else None,
        gives_up=[need.by for need in found.needs if need.by in job.given_up],
        promised_bytes=found.frees_bytes,
        run_id=job.run_id,
        at=time.time(),
    )


def _read_alike(trash: Trash, part: Aside, path: str) -> list[Entry]:
    try:
        entries = trash.read(part.name)
    except FileNotFoundError as error:
        raise Stays(f"{part.name} is gone already") from error
    except TreeRefused as error:
        raise Stays(error.message) from error
    _require_alike(entries, part, path)
    return entries


def _require_alike(entries: Sequence[Entry], part: Aside, path: str) -> None:
    if points := mounts_below(path):
        raise Stays(f"{spell(points[0])} is a mount point")
    if digest_tree(list(entries)) != part.digest:
        raise Stays(f"{part.name} changed since it was planned: something was added, removed or written to", hint="plan again")


def _prove(trash: Trash, found: Found, part: Aside) -> None:
    """In the trash nobody finds it by its name any more: what it is now, and who holds it now, is what counts."""
    entries, aside = trash.read_aside(part), f"{unspell(found.root.real)}/{TRASH}/{part.trash}"
    _require_alike(entries, part, aside)
    if holders := read_open_files().holders(entries, aside):
        raise Stays(f"{part.name}: {holders[0]} holds it open")


def _files(found: Found, entries: Sequence[Entry]) -> Iterator[ManifestFile]:
    """The manifest's files, and what else was recorded with a digest; weights that nobody recorded with their size alone."""
    folder = WeightsFolder(Path(unspell(found.path)))
    manifest = read_manifest(folder.root) if found.is_refetchable else None
    yield from manifest.files if manifest else ()
    recorded = read_irreplaceable(folder)
    digests = {file.path: file.sha256 for file in recorded.files} if recorded else {}
    sizes = {spell(entry.path): entry.size for entry in entries}
    yield from (ManifestFile(path=name, size=sizes.get(name, 0), sha256=digests.get(unspell(name))) for name in found.irreplaceable)


def _let_go(job: Reclaiming, record: ReclaimRecord) -> None:
    """Before the first byte goes: no book names a release any more that is not whole, and nothing starts it."""
    for release_id in record.gives_up:
        forget_release(job.state, release_id)
    if record.release is not None:
        choose_supervisor(job.host, job.state).forget(record.release)
        drop_retired(job.state, record.release.id)


def _delete(trash: Trash, record: ReclaimRecord) -> list[str]:
    left = []
    for part in record.parts:
        if trash.has(part):
            left += trash.delete(part, trash.read_aside(part))
    return left


def _find_record(state: StatePaths, found: Found) -> ReclaimRecord:
    names = {os.path.basename(part.name) for part in found.parts}  # noqa: PTH119
    for record in read_unfinished(state):
        if record.phase == "going" and names & {part.trash for part in record.parts}:
            return record
    raise Stays(f"{found.path}: no record says what it is", hint="look at it and remove it by hand")


def _tidy(trash: Trash, kind: Kind, name: str) -> None:
    """`<org>--<name>/` when its last commit went."""
    parent = os.path.dirname(name)  # noqa: PTH120
    if kind == "weights" and parent and "/" not in parent:
        trash.remove_empty(parent)


def _say_left(left: Sequence[str]) -> str:
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return f"{left[0]}{more}; the rest is gone, the next reclaim tries again" if left else ""
