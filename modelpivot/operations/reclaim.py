"""Let things go for good: written down, moved aside, proved to be what was agreed to and held by nobody, then deleted. Needs the host's lock.

All are moved aside before one look at what processes hold: a thing that nobody held then is found by nobody any more, however long its turn takes.
Killed at any moment it leaves no half thing under its own name: what was not proved yet is put back by the next reclaim, the rest is deleted by it.
"""

import os
import time
from collections.abc import Generator, Sequence
from contextlib import suppress

from modelpivot.errors import PivotError
from modelpivot.facts.open_files import OpenFiles, read_open_files
from modelpivot.models.reclaim import Found, Gone, Item, Kind, Root
from modelpivot.models.spelled import unspell
from modelpivot.operations.set_aside import Reclaiming, Stays, put_back, put_back_unless_done, require_alike, set_aside
from modelpivot.operations.trash import Trash, opened_trash
from modelpivot.state.paths import StatePaths
from modelpivot.state.reclaimed import TRASH, Aside, ReclaimRecord, read_unfinished, write_record
from modelpivot.state.releases import drop_retired, forget_release
from modelpivot.supervisors.choose import choose_supervisor


def reclaim_items(job: Reclaiming, items: Sequence[Item]) -> Generator[Gone, None, None]:
    """Each gone, in this order, with the bytes that this measured free; or why it stays. Never raises for what the disk says of one thing. What was
    not asked for any more when this is closed lies under its own name again."""
    aside: dict[str, ReclaimRecord | str] = {}
    try:
        for item in items:
            aside[item.id] = _try_to_set_aside(job, item.found)
        held = read_open_files()
        for item in items:
            yield _finish(job, item, aside.pop(item.id), held)
    finally:
        for item in items:
            _put_back_rest(job, item.found, aside.get(item.id))
        for item in items:  # not before: what is put back needs the folder that it lay in
            _tidy(item.found.root, item.found.kind, item.found.name)


def _put_back_rest(job: Reclaiming, found: Found, record: ReclaimRecord | str | None) -> None:
    if isinstance(record, ReclaimRecord) and record.phase == "moving":
        with suppress(PivotError, OSError), opened_trash(found.root) as trash:
            put_back(job.state, trash, record)


def _try_to_set_aside(job: Reclaiming, found: Found) -> ReclaimRecord | str:
    """On record, moved; or why it stays."""
    try:
        with opened_trash(found.root) as trash:
            return _find_record(job.state, found) if found.kind == "unfinished" else set_aside(job, trash, found)
    except (PivotError, OSError) as error:
        return str(getattr(error, "message", error))


def _finish(job: Reclaiming, item: Item, record: ReclaimRecord | str, held: OpenFiles) -> Gone:
    state, found = job.state, item.found
    gone = Gone(id=item.id, path=found.path, what=found.what, promised_bytes=found.frees_bytes, freed_bytes=0)
    if isinstance(record, str):
        return gone.model_copy(update={"problem": record})
    try:
        with opened_trash(found.root) as trash:
            before = trash.free_bytes()
            record = record if record.phase == "going" else _prove(job, trash, found, record, held)
            _let_go(job, record)
            job.tell("log", f"{found.path}: moved aside and proved; deleting {found.parts[0].files} files")
            left = _delete(trash, record)
            freed = trash.free_bytes() - before
            write_record(state, record.model_copy(update={"phase": "going" if left else "gone", "freed_bytes": freed, "at": time.time()}))
    except (PivotError, OSError) as error:
        return gone.model_copy(update={"problem": str(getattr(error, "message", error))})
    return gone.model_copy(update={"freed_bytes": freed, "problem": _say_left(left)})


def settle_interrupted(state: StatePaths, roots: Sequence[Root]) -> list[str]:
    """What a killed reclaim had moved aside and not proved lies under its own name again, and what it had deleted is on record as gone.

    What cannot be put back, a sentence each. Nothing to do without any; what is only half deleted waits for `reclaim_items`.
    """
    problems = []
    # what is put back first needs the folder that it lay in
    for record in sorted(read_unfinished(state), key=lambda record: record.phase != "moving"):
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
        return put_back(state, trash, record)
    if not any(trash.has(part) for part in record.parts):
        write_record(state, record.model_copy(update={"phase": "gone"}))
        _remove_empty_parent(trash, record.kind, record.parts[0].name)
    return []


def _prove(job: Reclaiming, trash: Trash, found: Found, record: ReclaimRecord, held: OpenFiles) -> ReclaimRecord:
    """Stays, with all of it put back, when a part is not what was agreed to, or is held."""
    with put_back_unless_done(job.state, trash, record):
        for part in record.parts:
            _prove_part(trash, found, part, held)
    proved = record.model_copy(update={"phase": "going"})
    write_record(job.state, proved)
    return proved


def _prove_part(trash: Trash, found: Found, part: Aside, held: OpenFiles) -> None:
    """In the trash nobody finds it by its name any more: what it is now, and who holds it now, is what counts."""
    entries, aside = trash.read_aside(part), f"{unspell(found.root.real)}/{TRASH}/{part.trash}"
    require_alike(entries, part, aside)
    if holders := held.holders(entries, aside):
        raise Stays(f"{part.name}: {holders[0]} holds it open")


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


def _tidy(root: Root, kind: Kind, name: str) -> None:
    with suppress(PivotError, OSError), opened_trash(root) as trash:
        _remove_empty_parent(trash, kind, name)


def _remove_empty_parent(trash: Trash, kind: Kind, name: str) -> None:
    """`<org>--<name>/` when its last commit went."""
    parent = os.path.dirname(name)  # noqa: PTH120
    if kind == "weights" and parent and "/" not in parent:
        trash.remove_empty(parent)


def _say_left(left: Sequence[str]) -> str:
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return f"{left[0]}{more}; the rest is gone, the next reclaim tries again" if left else ""
