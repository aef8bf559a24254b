"""What a suite looks at: the shard table, and what lies beside it that should not."""

from modelpivot.models.manifest import ShardRow, Verified
from modelpivot.weights.verdict import INFORMATION


def rows_of(verified: Verified) -> list[ShardRow]:
    """The table, and a row for every name that has a problem and is no file of the manifest (weights too many, partial downloads)."""
    known = {row.path for row in verified.table}
    codes: dict[str, list[str]] = {}
    for problem in verified.verdict.problems:
        if problem.file not in known and problem.code not in INFORMATION:
            codes.setdefault(problem.file, []).append(problem.code)
    return [*verified.table, *(_stray_row(name, found) for name, found in codes.items())]


def _stray_row(name: str, codes: list[str]) -> ShardRow:
    return ShardRow(
        path=name,
        is_weights=False,
        expected_size=None,
        found_size=None,
        expected_digest=None,
        found_digest=None,
        digest_kind=None,
        tensors=None,
        problems=",".join(dict.fromkeys(codes)),
    )
