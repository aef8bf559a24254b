"""What a directory holds in place of what was fetched: a view's patched files, or those that `modelpivot patch` changed in a plain directory.

.modelpivot/patched.json       digests before and after, the patches, and where a link stood
            original/<path>    of a plain directory: the file as it was, the very inode where it was no link
"""

from pathlib import Path

from pydantic import Field

from modelpivot.files import hash_file, read_model
from modelpivot.models.frozen import Frozen
from modelpivot.models.patch import Patch
from modelpivot.weights.layout import OWN


class PatchRecord(Frozen):
    """Digests (sha256) of the patched files by path, and what was done."""

    repo: str = ""
    commit: str = ""
    """Both empty for a directory that no manifest describes."""
    before: dict[str, str] = Field(default_factory=dict)
    after: dict[str, str] = Field(default_factory=dict)
    patches: list[Patch] = Field(default_factory=list)
    earlier: dict[str, str] = Field(default_factory=dict)
    """Digest of a patched file that a further patch replaces: what stands there when that was cut off."""
    links: dict[str, str] = Field(default_factory=dict)
    """Path -> where the link led that stood there."""

    def patched_digests(self, path: str) -> set[str | None]:
        """Of the file when it is patched."""
        return {self.after.get(path), self.earlier.get(path)}


def patch_record_path(directory: Path) -> Path:
    """Where the record lies."""
    return directory / OWN / "patched.json"


def original_path(directory: Path, path: str) -> Path:
    """Where a file of a plain directory is kept as it was before it was patched."""
    return directory / OWN / "original" / path


def read_record(directory: Path) -> PatchRecord | None:
    """None: nothing here was ever patched."""
    return read_model(patch_record_path(directory), PatchRecord)


def read_patched(directory: Path) -> dict[str, str]:
    """Path -> sha256 of every patched file; empty where nothing is patched."""
    record = read_record(directory)
    return record.after if record else {}


def fetched_file(directory: Path, path: str, record: PatchRecord | None) -> Path:
    """The file as it was fetched: what is kept of it where it was patched in place (`record`: what `read_record` says), else itself."""
    kept, here = original_path(directory, path), directory / path
    if record is None or path not in record.after or not kept.is_file() or not here.is_file():
        return here
    return kept if hash_file(here) in record.patched_digests(path) else here
