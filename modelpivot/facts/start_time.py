"""How long a release took to come up, by the switches of this host."""

from modelpivot.errors import PivotError
from modelpivot.files import read_model
from modelpivot.models.cutover import Cutover, StepTime
from modelpivot.state.paths import RunPaths, StatePaths
from modelpivot.state.runs import list_runs

STEPS = ("prove free", "serve", "ready", "probe", "undrain")
"""From the free place to the answer."""
MOST_RUNS = 200


def read_start_s(state: StatePaths, release_id: str) -> float | None:
    """Seconds of its last start that came to an end; None: no switch of this host ever started it."""
    for run in list_runs(state)[:MOST_RUNS]:
        cutover = _read(run)
        if cutover and (seconds := last_start_s(cutover.steps, release_id)):
            return seconds
    return None


def last_start_s(steps: list[StepTime], release_id: str) -> float | None:
    """Pure: of one switch's steps; None: the release was not started in it, or not to the end."""
    total, is_whole = 0.0, False
    for step in steps:
        if step.release != release_id or step.name not in STEPS:
            continue
        if step.result == "failed":
            return None
        total = step.seconds if step.name == STEPS[0] else total + step.seconds
        is_whole = is_whole or step.name == "probe"
    return total if is_whole else None


def _read(run: RunPaths) -> Cutover | None:
    try:
        return read_model(run.cutover, Cutover)
    except PivotError:
        return None
