"""What became of what was measured in a switch: only what was promoted is a baseline for those that come after. Runs when a switch is over."""

from collections.abc import Sequence

from modelpivot.benchmark.keep import look_back, mark
from modelpivot.files import read_model
from modelpivot.models.benchmark import Passed, Standing, StoredResult
from modelpivot.models.cutover import Cutover, Outcome
from modelpivot.stages.context import Context

STANDINGS: dict[Outcome, Standing] = {"promoted": "accepted", "returned": "refused", "nothing_serves": "refused"}


def settle_standing(context: Context, closed: Cutover) -> None:
    """Accepted when the switch promoted what was measured in it, refused when it went back. A history that does not answer is told.

    Nothing to do where nothing was measured, where a standing was given before, and for a trial, which promotes none.
    """
    standing = STANDINGS.get(closed.outcome) if closed.outcome and not closed.trial else None
    if standing is None:
        return
    history, _ = look_back(context.state)
    runs = _measuring_runs(context, closed)
    measured = [result for result in history if result.run_id in runs and result.release == closed.to_release]
    mark_results(context, [result for result in measured if result.standing == "measured"], standing)


def mark_results(context: Context, results: Sequence[StoredResult], standing: Standing) -> None:
    """Give results their standing; nothing to do without any."""
    if results and (problem := mark(context.state, [result.id for result in results], standing)):
        context.journal("warning", problem)


def _measuring_runs(context: Context, closed: Cutover) -> set[str]:
    """The run that began the switch, the one whose gate said yes, and this one: a switch outlives the runs that follow it."""
    passed = read_model(context.state.run(closed.run_id).passed, Passed)
    return {closed.run_id, context.run.id, *([passed.run_id] if passed else [])}
