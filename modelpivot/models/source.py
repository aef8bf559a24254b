"""Where the weights of a model are: a repository at a revision, and which of its files."""

import re

from pydantic import Field, field_validator

from modelpivot.models.frozen import Frozen

REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")


class Source(Frozen):
    """The repository on the Hub that holds the weights."""

    repo: str
    """`org/name`."""
    revision: str = "main"
    """Branch, tag or 40-hex commit; resolved once to 40 hex."""
    include: list[str] = Field(default_factory=list)
    """Globs of the files to take; empty: everything the engine needs."""
    exclude: list[str] = Field(default_factory=list)
    """Globs of files to leave out."""

    @field_validator("repo")
    @classmethod
    def _check_repo(cls, repo: str) -> str:
        if not REPO.fullmatch(repo) or ".." in repo:
            raise ValueError(f"expected org/name, found {repo!r}")
        return repo
