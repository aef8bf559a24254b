"""More starts of the engine: the release that serves is started again by a switch to itself, measured, and held against its baseline, until the
figures can tell or enough is enough. Every further start is a downtime; whoever calls this has asked."""

from collections.abc import Sequence

from modelpivot.errors import SwitchFailed
from modelpivot.models.benchmark import Check, Measurement, Standing
from modelpivot.models.comparison import Comparison
from modelpivot.models.cutover import Cutover
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.plans.gate import judge_comparison, judge_floors, judge_measured
from modelpivot.recipes import recipe_digest
from modelpivot.stages.benchmark import measure
from modelpivot.stages.context import Context
from modelpivot.stages.gate import compare_with_baseline
from modelpivot.stages.switch import follow_switch, is_closed, start_switch


def measure_starts(
    context: Context, release: Release, recipe: Recipe, *, starts: int, is_eager: bool, standing: Standing
) -> tuple[list[Measurement], Comparison | None]:
    """Measured in this start, and in further ones up to `starts`: all of them, or with `is_eager` only until the comparison can tell.

    SwitchFailed when the release does not come up again.
    """
    measurements: list[Measurement] = []
    comparison: Comparison | None = None
    for number in range(starts):
        switched = restart(context, release) if number else None
        digest = recipe_digest(recipe)
        measurements += measure(context, release, recipe.workloads, recipe_digest=digest, standing=standing, started_by=switched)
        comparison = compare_with_baseline(context, recipe, release, context.journal.stage("gate"), looks=starts if is_eager else 1)
        if is_eager and (comparison is None or comparison.verdict != "cannot tell"):
            break
    return measurements, comparison


def restart(context: Context, release: Release) -> Cutover:
    """The same release, started again by a switch to itself, closed: stopped, proved gone, started, ready, probed. SwitchFailed when it is not up
    after."""
    cutover = start_switch(context, to=release, frm=release, confirm="automatic")
    closed = follow_switch(context, cutover, until=is_closed)
    if closed.outcome != "promoted":
        raise SwitchFailed(f"{release.id} was started again for a measurement: {closed.outcome}, {closed.reason}", cause=closed.cause)
    return closed


def judge(recipe: Recipe, measurements: Sequence[Measurement], comparison: Comparison | None) -> list[Check]:
    """Every check over what was measured."""
    checks = judge_measured(measurements, recipe.points()) + judge_floors(measurements, recipe.floors)
    return checks + (judge_comparison(comparison, recipe.regression) if comparison else [])
