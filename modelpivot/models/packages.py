"""Packages of an engine's environment: what is there, what would change, and what a recipe lets change."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen

Origin = Literal["index", "git", "address", "folder"]
Answer = Literal["pass", "consent", "block"]
ChangeClass = Literal["engine", "abi_partner", "downgrade", "major", "build", "snapshot", "unhashed", "yanked", "added", "removed", "other"]


class Package(Frozen):
    """One package, installed or resolved."""

    name: str
    """As indexes compare names: lower case, dashes."""
    version: str
    """Exact; the commit or address where there is no other."""
    origin: Origin = "index"
    commit: str = ""
    """Of a git checkout; empty: none."""
    is_hashed: bool = True
    """Whether the lock holds a digest of its bytes."""
    is_yanked: bool = False
    """Whether its maker took it back."""


class LiveEnvironment(Frozen):
    """The environment that serves now, as it lies on disk."""

    path: Path
    packages: list[Package] = Field(default_factory=list)
    altered: list[str] = Field(default_factory=list)
    """Files that differ from the RECORD of their package, are gone, or stand in no RECORD: below site-packages. Empty: as installed."""
    is_full: bool = False
    """True: every byte was hashed; False: only files of another size or a later time than their RECORD."""


class PackageChange(Frozen):
    """One package that would be another one."""

    name: str
    before: str | None
    """Version in the live environment; None: not there."""
    after: str | None
    """Version in the candidate; None: no longer there."""
    classes: list[ChangeClass]
    is_asked: bool = False
    """The request itself names this very version."""
    answer: Answer = "pass"
    """What the recipe's policy says to it."""

    def __str__(self) -> str:
        return f"{self.name} {self.before or 'absent'} -> {self.after or 'absent'} ({', '.join(self.classes)})"


class PackagePolicy(Frozen):
    """What may change without a word (pass), needs a yes (consent), or needs the recipe's own consent (block). The strictest class decides.

    What the request names with an exact version or commit is not silent and passes, unless it was yanked.
    """

    engine: Answer = "pass"
    abi_partner: Answer = "pass"
    """torch, CUDA wheels, flash-attn, flashinfer, nccl, triton, cutlass-dsl and their kin, upwards."""
    abi_downgrade: Answer = "block"
    """The same downwards."""
    downgrade: Answer = "consent"
    major: Answer = "consent"
    build: Answer = "consent"
    """The same package built for something else: `+cpu`, `+cu129`."""
    snapshot: Answer = "block"
    """A development version, or a git checkout."""
    unhashed: Answer = "consent"
    yanked: Answer = "consent"
    added: Answer = "pass"
    removed: Answer = "pass"
    other: Answer = "pass"
    patched: Answer = "consent"
    """The live environment was patched in place: the candidate will not have those changes."""
    packages: dict[str, Answer] = Field(default_factory=dict)
    """By name; goes before every class."""
