"""What was reclaimed, written before it goes and kept for good: enough to bring it in again, and to end what a kill left half done.

<state>/reclaimed/<id>.json     repository, commit, files with digests; the parts, where they lay, where they were moved to
<root>/.reclaim/<id>.<n>        a part on its way out: moved there whole, deleted when it was proved to be what was agreed to
"""

import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from modelpivot.errors import UsageError
from modelpivot.files import read_model, write_model
from modelpivot.models.frozen import Frozen
from modelpivot.models.manifest import ManifestFile
from modelpivot.models.reclaim import Kind
from modelpivot.models.release import Release
from modelpivot.state.paths import StatePaths

TRASH = ".reclaim"
"""Below each root, and so on its file system: a move there costs nothing and leaves no half thing under a name that somebody trusts."""


class Aside(Frozen):
    """One part: where it lay, and its name in the trash."""

    name: str
    digest: str
    trash: str


class ReclaimRecord(Frozen):
    """One thing that goes, or went (`reclaimed/<id>.json`)."""

    id: str
    kind: Kind
    what: str
    root: str
    """Real path of the root, spelled."""
    parts: list[Aside]
    phase: Literal["moving", "going", "gone"] = "moving"
    """moving: parts may lie in the trash, unproved. going: all of them are proved, and being deleted."""
    repo: str = ""
    commit: str = ""
    files: list[ManifestFile] = Field(default_factory=list)
    """Of the manifest, or recorded by hand: digests of what lay there."""
    release: Release | None = None
    """Whose view it was."""
    gives_up: list[str] = Field(default_factory=list)
    """Releases that are whole no more without it, and stop being current or previous."""
    promised_bytes: int = 0
    freed_bytes: int | None = None
    run_id: str = ""
    at: float = 0.0


def new_record_id(kind: Kind) -> str:
    """Sortable by time, unique."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{kind}-{secrets.token_hex(3)}"


def record_path(state: StatePaths, record_id: str) -> Path:
    """Where a record lies."""
    return state.reclaimed / f"{record_id}.json"


def write_record(state: StatePaths, record: ReclaimRecord) -> None:
    """Put a record on disk, synced."""
    write_model(record_path(state, record.id), record)


def drop_record(state: StatePaths, record: ReclaimRecord) -> None:
    """Forget a record of something that stayed."""
    record_path(state, record.id).unlink(missing_ok=True)


def read_records(state: StatePaths) -> list[ReclaimRecord]:
    """All records, oldest first; one that cannot be understood is passed over."""
    records = [record for path in state.reclaimed.glob("*.json") if (record := _read(path)) is not None]
    return sorted(records, key=lambda record: (record.at, record.id))


def read_unfinished(state: StatePaths) -> Iterator[ReclaimRecord]:
    """Those whose parts may still lie in the trash."""
    return (record for record in read_records(state) if record.phase != "gone")


def _read(path: Path) -> ReclaimRecord | None:
    try:
        return read_model(path, ReclaimRecord)
    except UsageError:
        return None
