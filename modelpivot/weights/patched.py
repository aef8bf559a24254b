"""What a view holds in place of what was fetched: digests before and after, kept in the view (`.modelpivot/patched.json`)."""

from pathlib import Path

from modelpivot.files import read_model
from modelpivot.models.frozen import Frozen
from modelpivot.weights.layout import OWN


class PatchRecord(Frozen):
    """Digests (sha256) of the patched files by path."""

    repo: str
    commit: str
    before: dict[str, str]
    after: dict[str, str]


def patch_record_path(view_dir: Path) -> Path:
    """Where the record lies in a view."""
    return view_dir / OWN / "patched.json"


def read_patched(directory: Path) -> dict[str, str]:
    """Path -> sha256 of every patched file; empty for a directory that is no view."""
    record = read_model(patch_record_path(directory), PatchRecord)
    return record.after if record else {}
