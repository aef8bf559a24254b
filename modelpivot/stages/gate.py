"""Gate: the measurements against the recipe's floors and against the same model's baseline on this host; decides between promote and the way back."""

from collections.abc import Sequence

from modelpivot.benchmark.keep import look_back
from modelpivot.benchmark.setup import read_setup
from modelpivot.errors import GateFailed
from modelpivot.models.benchmark import Check, Measurement, StoredResult
from modelpivot.models.comparison import Comparison
from modelpivot.models.counted import counted
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.plans.baseline import choose_baseline
from modelpivot.plans.compare import Side, compare
from modelpivot.plans.gate import judge_comparison, judge_floors, judge_measured
from modelpivot.stages.context import Context
from modelpivot.stages.standing import mark_results
from modelpivot.stages.told import told
from modelpivot.state.runs import Journal


def gate(context: Context, recipe: Recipe, measurements: Sequence[Measurement], release: Release | None = None) -> list[Check]:
    """Every check; GateFailed carries all that failed, and what was measured is refused then.

    With a release the baseline counts too. What passed is accepted when it is promoted, and not before.
    """
    what = f"{counted(len(recipe.floors), 'floor')} over {counted(len(recipe.points()), 'workload')}"
    with told(context.journal, "gate", what) as (tell, ending):
        comparison = compare_with_baseline(context, recipe, release, tell) if release and measurements else None
        checks = judge_measured(measurements, recipe.points()) + judge_floors(measurements, recipe.floors)
        checks += judge_comparison(comparison, recipe.regression) if comparison else []
        failed = [str(check) for check in checks if not check.passed]
        if failed and release and measurements:
            mark_results(context, results_of(look_back(context.state)[0], context.run.id), "refused")
        ending.finish(
            f"{len(checks) - len(failed)} of {counted(len(checks), 'check')} passed; {say_comparison(comparison)}",
            checks=[check.model_dump(mode="json") for check in checks],
            comparison=comparison.model_dump(mode="json") if comparison else None,
        )
        if failed:
            raise GateFailed(
                f"the new model is not promoted: {'; '.join(failed)}",
                failed=failed,
                gate="benchmark",
                hint="mend the release or the recipe's floors, then run it again",
            )
    return checks


def compare_with_baseline(context: Context, recipe: Recipe, release: Release, tell: Journal, *, looks: int = 1) -> Comparison | None:
    """This run's results against the baseline; None: there is none, or the history does not answer, which is told."""
    setup, digests = read_setup(context.host, release), [point.digest for point in recipe.points()]
    history, problem = look_back(context.state, host=setup.host, workloads=digests)
    if problem:
        tell("warning", f"{problem}; only the floors decide")
        return None
    mine, baseline = results_of(history, context.run.id), choose_baseline(history, setup, context.run.id)
    if not mine or not baseline:
        return None
    titles = list(dict.fromkeys(result.release for result in baseline))
    comparison = compare(Side(", ".join(titles), baseline), Side(release.id, mine), recipe.regression, history, looks=looks)
    if comparison.verdict == "cannot tell":
        tell("warning", "the figures cannot tell whether it regressed: too few starts for their noise")
    return comparison


def results_of(history: Sequence[StoredResult], run_id: str) -> list[StoredResult]:
    """What one run measured."""
    return [result for result in history if result.run_id == run_id]


def say_comparison(comparison: Comparison | None) -> str:
    """The verdict in a few words."""
    if comparison is None or comparison.verdict is None:
        return "no baseline of this model on this host"
    return f"against {comparison.baseline}: {comparison.verdict}"
