"""Which results a word means: a run, a release, an engine's version, or the beginning of one of these. Pure."""

from collections.abc import Callable, Sequence

from modelpivot.errors import UsageError
from modelpivot.models.benchmark import StoredResult

KINDS: dict[str, Callable[[StoredResult], str]] = {
    "run": lambda result: result.run_id,
    "release": lambda result: result.release,
    "engine version": lambda result: "" if result.is_probe else result.setup.engine_version,
    "set-up": lambda result: result.setup_digest,
}


def find_results(history: Sequence[StoredResult], word: str) -> list[StoredResult]:
    """All results of the one thing that the word names. UsageError when it names none, or the beginning of several.

    A version means the models that were served with it; probe models are named by their run or release.
    """
    for read in KINDS.values():
        if found := [result for result in history if read(result) == word]:
            return found
    begun = {(kind, read(result)) for kind, read in KINDS.items() for result in history if read(result).startswith(word)}
    if len(begun) == 1:
        ((kind, name),) = begun
        return [result for result in history if KINDS[kind](result) == name]
    known = ", ".join(sorted({name for _, name in begun} or {result.release for result in history})[:8])
    said = f"{word!r} begins several" if begun else f"no results of {word!r}"
    raise UsageError(
        f"{said}; there are: {known or 'none at all'}", hint="name a run, a release or an engine version: modelpivot history --results"
    )
