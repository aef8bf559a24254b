"""The first half of letting a thing go: written down and moved aside whole. Until it is proved, it is put back under its own name."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from modelpivot.errors import PreconditionError
from modelpivot.facts.mounts import mounts_below
from modelpivot.facts.trees import Entry, TreeRefused, digest_tree
from modelpivot.models.event import Tell
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import ManifestFile
from modelpivot.models.reclaim import Found
from modelpivot.models.spelled import spell, unspell
from modelpivot.operations.trash import Trash
from modelpivot.state.paths import StatePaths
from modelpivot.state.reclaimed import Aside, ReclaimRecord, drop_record, new_record_id, write_record
from modelpivot.state.releases import read_release
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


def set_aside(job: Reclaiming, trash: Trash, found: Found) -> ReclaimRecord:
    """Every part in the trash; all of it put back when one cannot be moved."""
    record = _new_record(job, trash, found)
    write_record(job.state, record)
    with put_back_unless_done(job.state, trash, record):
        for part in record.parts:
            trash.take(part)
    return record


@contextmanager
def put_back_unless_done(state: StatePaths, trash: Trash, record: ReclaimRecord) -> Iterator[None]:
    """Whatever ends the block early, the thing lies where it lay."""
    try:
        yield
    except BaseException:
        put_back(state, trash, record)
        raise


def put_back(state: StatePaths, trash: Trash, record: ReclaimRecord) -> list[str]:
    """Under its own name, and off the record; else why not."""
    problems = [why for part in record.parts if (why := trash.put_back(part))]
    if not problems:
        drop_record(state, record)
    return problems


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
    require_alike(entries, part, path)
    return entries


def require_alike(entries: Sequence[Entry], part: Aside, path: str) -> None:
    """Stays for a mount in it, or any change since it was planned."""
    if points := mounts_below(path):
        raise Stays(f"{spell(points[0])} is a mount point")
    if digest_tree(list(entries)) != part.digest:
        raise Stays(f"{part.name} changed since it was planned: something was added, removed or written to", hint="plan again")


def _files(found: Found, entries: Sequence[Entry]) -> Iterator[ManifestFile]:
    """The manifest's files, and what else was recorded with a digest; weights that nobody recorded with their size alone."""
    folder = WeightsFolder(Path(unspell(found.path)))
    manifest = read_manifest(folder.root) if found.is_refetchable else None
    yield from manifest.files if manifest else ()
    recorded = read_irreplaceable(folder)
    digests = {file.path: file.sha256 for file in recorded.files} if recorded else {}
    sizes = {spell(entry.path): entry.size for entry in entries}
    yield from (ManifestFile(path=name, size=sizes.get(name, 0), sha256=digests.get(unspell(name))) for name in found.irreplaceable)
