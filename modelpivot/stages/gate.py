"""Gate: the measurements against the recipe's floors; decides whether the release is promoted or the switch goes back."""

from collections.abc import Sequence

from modelpivot.errors import GateFailed
from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.recipe import Recipe
from modelpivot.plans.gate import judge_floors, judge_measured
from modelpivot.stages.context import Context
from modelpivot.stages.told import told


def gate(context: Context, recipe: Recipe, measurements: Sequence[Measurement]) -> list[Check]:
    """Every check; GateFailed carries all that failed."""
    with told(context.journal, "gate", f"{len(recipe.floors)} floors over {len(recipe.workloads)} workloads") as (_, ending):
        checks = judge_measured(measurements, recipe.workloads) + judge_floors(measurements, recipe.floors)
        failed = [str(check) for check in checks if not check.passed]
        ending.finish(
            f"{len(checks) - len(failed)} of {len(checks)} checks passed", checks=[check.model_dump(mode="json") for check in checks]
        )
        if failed:
            raise GateFailed(
                f"the new model is not promoted: {'; '.join(failed)}",
                failed=failed,
                hint="mend the release or the recipe's floors, then run it again",
            )
    return checks
