"""What a file is that is not the weights it is named for: a Git LFS pointer, an error page, nothing at all. Needs its first bytes only."""

import re

from modelpivot.models.manifest import ProblemCode

POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\s+oid sha256:([0-9a-f]{64})\s+size (\d+)")
PEEK_BYTES = 512
ERROR_JSON = re.compile(rb'\s*\{\s*"(error|message|detail|code)"')
XML = re.compile(rb"\s*<(\?xml|!doctype|html|error)", re.I)


def looks_like(first: bytes) -> ProblemCode | None:
    """LFS_POINTER, ERROR_PAGE or EMPTY by the first bytes; None: nothing that gives itself away."""
    if not first:
        return "EMPTY"
    if POINTER.match(first):
        return "LFS_POINTER"
    return "ERROR_PAGE" if ERROR_JSON.match(first) or XML.match(first) else None


def read_pointer(first: bytes) -> tuple[str, int] | None:
    """sha256 and size that a pointer names; None: no pointer."""
    match = POINTER.match(first)
    return (match[1].decode(), int(match[2])) if match else None
