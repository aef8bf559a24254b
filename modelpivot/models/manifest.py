"""Manifest, receipt, shard table and verdict: what files must be, and what was found of them."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen

ProblemCode = Literal[
    "MISSING",
    "EXTRA_WEIGHTS",
    "SIZE_MISMATCH",
    "HASH_MISMATCH",
    "LFS_POINTER",
    "ERROR_PAGE",
    "EMPTY",
    "HEADER_INVALID",
    "HEADER_TOO_LARGE",
    "OFFSETS_INVALID",
    "TENSOR_MISSING",
    "TENSOR_DUPLICATE",
    "INDEX_STALE",
    "INDEX_INVALID",
    "PARTIAL_LEFT",
    "UNSAFE_PATH",
    "NO_DIGEST",
    "UNREADABLE",
    "PATCHED",
    "NO_TOKENIZER",
]
VerdictWord = Literal["complete", "incomplete", "corrupt", "unverifiable"]


class ManifestFile(Frozen):
    """One file of a repository at one commit."""

    path: str
    """Relative, with forward slashes, as the Hub names it."""
    size: int = Field(ge=0)
    """Bytes."""
    sha256: str | None = None
    git_oid: str | None = None
    """sha1 of `blob <size>\\0` + bytes, for small files without sha256."""


class Manifest(Frozen):
    """The pinned file list of one repository at one 40-hex commit."""

    repo: str
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    files: list[ManifestFile]

    @property
    def bytes_total(self) -> int:
        """Sum of all sizes, bytes."""
        return sum(file.size for file in self.files)


class Receipt(Frozen):
    """Proof on disk that a file had a digest, valid while the file's identity is the same."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int
    sha256: str
    git_oid: str | None = None
    proved_at: float
    """Seconds since the epoch."""


class Problem(Frozen):
    """One thing wrong with one file."""

    file: str
    code: ProblemCode
    expected: str = ""
    found: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.code} {self.file}: expected {self.expected or '-'}, found {self.found or '-'}; {self.remedy}"


class ShardRow(Frozen):
    """One row of the shard table: one file, expected against found."""

    path: str
    is_weights: bool
    expected_size: int | None
    found_size: int | None
    expected_digest: str | None
    found_digest: str | None
    digest_kind: Literal["sha256", "git_oid"] | None
    tensors: int | None
    """Tensors in the header; None: no weights file, or unreadable."""
    dtypes: str = ""
    hashed_now: bool = False
    """False: its receipt was still valid."""
    problems: str = ""
    """Codes, comma separated; empty: none."""


class Counts(Frozen):
    """How many were expected, verified, and hashed in this very run."""

    expected: int
    verified: int
    hashed_now: int


class Verdict(Frozen):
    """The judgement over a directory of weights; the JSON of `modelpivot verify`."""

    verdict: VerdictWord
    files: Counts
    bytes: Counts
    problems: list[Problem] = Field(default_factory=list)


class Verified(Frozen):
    """A verdict with the table it was made from, and where."""

    directory: Path
    verdict: Verdict
    table: list[ShardRow]


def weights_directory(root: Path, repo: str, commit: str) -> Path:
    """`<weights root>/<org>--<name>/<commit>`."""
    return root / repo.replace("/", "--") / commit
