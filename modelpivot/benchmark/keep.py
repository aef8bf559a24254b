"""Results kept whatever happens: in the history, or in the state until the history answers again. A pivot never fails for want of a database.

<state>/unstored/<result id>.json
"""

from collections.abc import Sequence
from contextlib import suppress

from modelpivot.errors import PivotError
from modelpivot.files import read_model, write_model
from modelpivot.models.benchmark import Standing, StoredResult
from modelpivot.state.paths import StatePaths


def keep(state: StatePaths, results: Sequence[StoredResult]) -> str:
    """Keep results, those that were set aside before with them. Empty, or why the history did not take them: they lie in the state then."""
    from modelpivot.benchmark.store import open_history

    try:
        with open_history(state) as history:
            waiting = read_unstored(state)
            history.add([*waiting, *results])
    except PivotError as error:
        for result in results:
            write_model(state.unstored / f"{result.id}.json", result)
        return error.message
    for result in waiting:
        (state.unstored / f"{result.id}.json").unlink(missing_ok=True)
    return ""


def mark(state: StatePaths, ids: Sequence[str], standing: Standing) -> str:
    """Say what became of what was measured. Empty, or why the history does not know it: those that wait in the state do."""
    from modelpivot.benchmark.store import open_history

    for result in read_unstored(state):
        if result.id in ids:
            write_model(state.unstored / f"{result.id}.json", result.model_copy(update={"standing": standing}))
    try:
        with open_history(state) as history:
            history.mark(ids, standing)
    except PivotError as error:
        return error.message
    return ""


def look_back(
    state: StatePaths, *, host: str | None = None, repo: str | None = None, workloads: Sequence[str] | None = None, has_all: bool = False
) -> tuple[list[StoredResult], str]:
    """What the history has, newest first, with what waits in the state; and why the history itself does not answer, empty when it does.

    The newest few thousand; `has_all`: however many there are.
    """
    from modelpivot.benchmark.store import MOST, open_to_read

    waiting = [
        result
        for result in read_unstored(state)
        if host in (None, result.setup.host)
        and repo in (None, result.setup.repo)
        and (workloads is None or result.workload.digest in workloads)
    ]
    try:
        with open_to_read(state) as history:
            most = None if has_all else MOST
            found, problem = history.read(host=host, repo=repo, workloads=workloads, most=most) if history else [], ""
    except PivotError as error:
        found, problem = [], error.message
    together = {result.id: result for result in [*waiting, *found]}.values()
    return sorted(together, key=lambda result: result.measurement.at, reverse=True), problem


def read_unstored(state: StatePaths) -> list[StoredResult]:
    """Results that wait in the state; a file that is none is passed over."""
    found: list[StoredResult] = []
    for path in sorted(state.unstored.glob("*.json")):
        with suppress(PivotError):
            if result := read_model(path, StoredResult):
                found.append(result)
    return found
