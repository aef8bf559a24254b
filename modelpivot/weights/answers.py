"""What an answer means: passing, refused for good, or not what was asked for. Statuses and headers in, one of our errors out."""

import re
from collections.abc import Mapping

from modelpivot.errors import PivotError, PreconditionError, TransientError
from modelpivot.models.manifest import ManifestFile, ProblemCode
from modelpivot.weights.reconnect import parse_retry_after

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530})
CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
REMEDIES = {
    "unauthorized": "log in again (hf auth login), or set HF_TOKEN to a token that is valid",
    "gated": "ask for access on the model's page, then use a token of that account (HF_TOKEN)",
    "not_found": "look at the name; a private repository needs a token that may read it (HF_TOKEN)",
    "revision_gone": "the commit is no longer there: plan again with a revision that is",
    "unreachable": "look at the network and at the Hub's address (MODELPIVOT_HUB_ENDPOINT), then run it again",
}
"""Next move by the word for what the Hub said."""


class Refused(PreconditionError):
    """The Hub says no for good. `problem` is unauthorized, gated, not_found or revision_gone."""

    def __init__(self, message: str, *, problem: str = "not_found", hint: str = "") -> None:
        super().__init__(message, hint=hint or REMEDIES[problem])
        self.problem = problem


class Overloaded(TransientError):
    """429 or 503: fewer connections, please."""


class LinkRefused(TransientError):
    """The store refuses a signed link: it is over, or was never good."""


class WrongAnswer(TransientError):
    """An answer that cannot hold the bytes that were asked for; nothing of it was written. `code` says what it looks like."""

    def __init__(self, message: str, *, code: ProblemCode = "SIZE_MISMATCH", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


def refusal_problem(status: int, headers: Mapping[str, str]) -> str:
    """unauthorized, gated, not_found or revision_gone; empty: no refusal."""
    code = headers.get("X-Error-Code", "")
    if code == "RevisionNotFound":
        return "revision_gone"
    if code == "GatedRepo" or (status == 403 and code != "RepoNotFound"):
        return "gated"
    if code in ("RepoNotFound", "EntryNotFound") or status in (404, 410):
        return "not_found"
    return "unauthorized" if status == 401 else ""


def error_for_status(status: int, headers: Mapping[str, str], *, what: str, from_store: bool) -> PivotError:
    """The error for an answer that is neither bytes nor a redirect.

    `from_store`: the answer of a signed link, whose 4xx mean that the link is over, so that a new one is asked for.
    """
    said = headers.get("X-Error-Message") or headers.get("X-Error-Code") or ""
    found = f"{what}: HTTP {status}" + (f" ({said})" if said else "")
    if status in PASSING or status >= 500:
        kind = Overloaded if status in (429, 503) else TransientError
        return kind(found, hint=REMEDIES["unreachable"], retry_after_s=parse_retry_after(headers))
    if from_store:
        return LinkRefused(f"{found}: the signed link is refused", hint="a new link is asked for; the store may be closed to this host")
    if status == 416:
        return WrongAnswer(f"{found}: the file there is shorter than the manifest says")
    if problem := refusal_problem(status, headers):
        return Refused(found, problem=problem)
    return TransientError(found, hint=REMEDIES["unreachable"])


def check_linked(headers: Mapping[str, str], file: ManifestFile, commit: str) -> None:
    """A redirect must be of the pinned commit and of a file as large as the manifest says. Raises Refused or WrongAnswer."""
    found = headers.get("X-Repo-Commit")
    if found and found != commit:
        raise Refused(f"{file.path}: expected commit {commit}, the Hub answers with {found}", problem="revision_gone")
    size = headers.get("X-Linked-Size")
    if size and size.isdigit() and int(size) != file.size:
        raise WrongAnswer(f"{file.path}: expected {file.size} bytes, the Hub names {size}")


def body_start(status: int, headers: Mapping[str, str], file: ManifestFile, asked_start: int, asked_stop: int | None = None) -> int:
    """Offset of the first byte of a body, which is `asked_start`, or 0 where the range was passed over. WrongAnswer when bytes cannot be right.

    `asked_stop`: the byte behind the last one asked for; None: to the file's end.
    """
    encoding = headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("", "identity"):
        raise WrongAnswer(f"{file.path}: asked for plain bytes, the answer is encoded ({encoding})")
    if status == 206:
        return _start_of_range(headers.get("Content-Range", ""), file, asked_start, file.size if asked_stop is None else asked_stop)
    length = headers.get("Content-Length")
    if length is not None and length.isdigit() and int(length) != file.size:
        raise WrongAnswer(
            f"{file.path}: expected {file.size} bytes, the answer has {length}", code="SIZE_MISMATCH" if int(length) else "EMPTY"
        )
    return 0


def _start_of_range(value: str, file: ManifestFile, asked_start: int, asked_stop: int) -> int:
    match = CONTENT_RANGE.fullmatch(value.strip())
    expected = f"bytes {asked_start}-{asked_stop - 1}/{file.size}"
    if not match or int(match[1]) != asked_start or int(match[2]) != asked_stop - 1 or match[3] not in ("*", str(file.size)):
        raise WrongAnswer(f"{file.path}: expected Content-Range {expected!r}, found {value!r}")
    return asked_start
