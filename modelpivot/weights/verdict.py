"""The verdict over a shard table: a pure judgement, and one word."""

from collections.abc import Sequence

from modelpivot.models.manifest import Counts, Problem, ShardRow, Verdict, VerdictWord

INFORMATION = frozenset({"PATCHED", "NO_TOKENIZER"})
"""What is told and takes nothing from a verdict: changed on purpose; a repository without a tokenizer may be served with none."""
INCOMPLETE = frozenset({"MISSING", "PARTIAL_LEFT"})
UNVERIFIABLE = frozenset({"NO_DIGEST", "UNREADABLE"})


def judge_table(table: Sequence[ShardRow], problems: Sequence[Problem]) -> Verdict:
    """Complete only when there are rows, every row is proved, and nothing else is wrong."""
    proved = [row for row in table if is_row_proved(row)]
    hashed = [row for row in table if row.hashed_now]
    return Verdict(
        verdict=judge_word({problem.code for problem in problems}, is_all_proved=bool(table) and len(proved) == len(table)),
        files=Counts(expected=len(table), verified=len(proved), hashed_now=len(hashed)),
        bytes=Counts(expected=_bytes(table), verified=_bytes(proved), hashed_now=_bytes(hashed)),
        problems=list(problems),
    )


def is_row_proved(row: ShardRow) -> bool:
    """Size and digest are there and as expected, or the file is patched as its record says; two unknowns are not equal."""
    if "PATCHED" in row.problems.split(","):
        return True
    return row.expected_digest is not None and row.found_digest == row.expected_digest and row.found_size == row.expected_size


def has_other_bytes(row: ShardRow) -> bool:
    """Whether the file is there with other bytes than the manifest's. One that is missing, unread, one too many or bad upstream is something else."""
    if row.found_size is None or "PATCHED" in row.problems.split(","):
        return False
    is_hashed = row.found_digest is not None and row.expected_digest is not None
    return row.found_size != row.expected_size or (is_hashed and row.found_digest != row.expected_digest)


def judge_word(codes: set[str], *, is_all_proved: bool) -> VerdictWord:
    """corrupt before incomplete before unverifiable: the word names the worst that was found."""
    codes = codes - INFORMATION
    if codes - INCOMPLETE - UNVERIFIABLE:
        return "corrupt"
    if codes & INCOMPLETE:
        return "incomplete"
    return "complete" if is_all_proved and not codes else "unverifiable"


def _bytes(rows: Sequence[ShardRow]) -> int:
    return sum(row.expected_size or 0 for row in rows)
