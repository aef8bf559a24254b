"""What patches make of a file: digests before and after, what changed, line by line. Shown in plans and reports, kept beside a patched file."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen
from modelpivot.models.model_config import KvSetting
from modelpivot.models.rule import AppliedRule


class PatchedFile(Frozen):
    """One file of a model that patches change."""

    file: str
    before: str
    """sha256 of the file as it was fetched."""
    after: str
    """sha256 with the patches."""
    diff: list[str] = Field(default_factory=list)
    """The lines that differ, `-` and `+` in front; of a very long line only what is around the change."""
    why: list[str] = Field(default_factory=list)
    """The reason of each patch that changed it."""


class Patching(Frozen):
    """What `modelpivot patch` did to a directory, or would do; its JSON."""

    directory: Path
    """The real one, links followed."""
    outcome: Literal["patched", "reverted", "would_patch", "would_revert", "unchanged"]
    files: list[PatchedFile] = Field(default_factory=list)
    """In the direction of the outcome: of a revert, `after` is the file as it was fetched."""
    rules: list[AppliedRule] = Field(default_factory=list)
    """Rules that hold, and what each did."""
    settings: list[KvSetting] = Field(default_factory=list)
    """Every place that sets the type of the KV cache, as it was found."""
    warnings: list[str] = Field(default_factory=list)
