"""The index of the shards held against their headers: every tensor in exactly one shard, and where the index says.

    {"metadata": {"total_size": 1069549568}, "weight_map": {"model.embed.weight": "model-00001-of-00002.safetensors", ...}}

`total_size` is computed differently by different writers: it is information only, and not judged.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set

from pydantic_core import from_json

from modelpivot.errors import IntegrityError
from modelpivot.files import is_safe_relative
from modelpivot.models.manifest import Problem, ProblemCode

SHOWN = 5


def parse_index(text: str | bytes) -> dict[str, str]:
    """Tensor -> shard. IntegrityError when it is no index."""
    try:
        document = from_json(text)
    except ValueError as error:
        raise IntegrityError(f"expected JSON, found {str(error)[:120]}") from error
    weight_map = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(weight_map, dict) or not weight_map:
        raise IntegrityError("expected a weight_map with tensors, found none")
    if wrong := [str(shard)[:80] for shard in set(map(str, weight_map.values())) if not is_safe_relative(shard)]:
        raise IntegrityError(f"expected plain file names, found {', '.join(sorted(wrong)[:SHOWN])}")
    if not all(isinstance(shard, str) for shard in weight_map.values()):
        raise IntegrityError("expected a file name for every tensor")
    return weight_map


def judge_index(index: str, weight_map: Mapping[str, str], tensors: Mapping[str, Set[str]], known: Iterable[str]) -> list[Problem]:
    """Everything that does not fit: `tensors` are the names in every readable header, `known` all weights files, readable or not.

    Codes: TENSOR_DUPLICATE (in two shards), TENSOR_MISSING (in the index, in no header), INDEX_STALE (in another shard than the index says, in
    a header but not in the index, or a shard that is not in the manifest).
    """
    holders: dict[str, list[str]] = defaultdict(list)
    for shard, names in tensors.items():
        for name in names:
            holders[name].append(shard)
    known = set(known)
    return [
        *_foreign_shards(index, weight_map, known),
        *_duplicates(holders),
        *_missing(weight_map, holders, tensors),
        *_misplaced(index, weight_map, holders, tensors),
        *_unlisted(index, weight_map, holders),
    ]


def _foreign_shards(index: str, weight_map: Mapping[str, str], known: set[str]) -> list[Problem]:
    foreign = sorted(set(weight_map.values()) - known)
    return [_problem(index, "INDEX_STALE", "shards of the manifest", foreign)] if foreign else []


def _duplicates(holders: Mapping[str, list[str]]) -> list[Problem]:
    by_shards: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, shards in holders.items():
        if len(shards) > 1:
            by_shards[tuple(sorted(shards))].append(name)
    return [
        _problem(shards[0], "TENSOR_DUPLICATE", f"not also in {', '.join(shards[1:])}", names)
        for shards, names in sorted(by_shards.items())
    ]


def _missing(weight_map: Mapping[str, str], holders: Mapping[str, list[str]], tensors: Mapping[str, Set[str]]) -> list[Problem]:
    """Of shards that could be read: what a missing or unreadable shard holds is told by that shard's own problem."""
    by_shard: dict[str, list[str]] = defaultdict(list)
    for name, shard in weight_map.items():
        if name not in holders and shard in tensors:
            by_shard[shard].append(name)
    return [_problem(shard, "TENSOR_MISSING", "tensors that the index names", names) for shard, names in sorted(by_shard.items())]


def _misplaced(
    index: str, weight_map: Mapping[str, str], holders: Mapping[str, list[str]], tensors: Mapping[str, Set[str]]
) -> list[Problem]:
    wrong = [name for name, shard in weight_map.items() if name in holders and shard not in holders[name] and shard in tensors]
    return [_problem(index, "INDEX_STALE", "tensors where the index says", wrong)] if wrong else []


def _unlisted(index: str, weight_map: Mapping[str, str], holders: Mapping[str, list[str]]) -> list[Problem]:
    unlisted = sorted(set(holders) - set(weight_map))
    return [_problem(index, "INDEX_STALE", "every tensor of the shards in the index", unlisted)] if unlisted else []


def _problem(file: str, code: ProblemCode, expected: str, names: list[str]) -> Problem:
    shown = ", ".join(sorted(names)[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return Problem(
        file=file, code=code, expected=expected, found=shown, remedy="index and shards are not of one upload: take another revision"
    )
