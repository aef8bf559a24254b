"""The receipt of a gate that said yes, beside its switch: a run that goes on with the same switch need not measure the same engine again."""

from collections.abc import Sequence

from modelpivot.files import read_model, write_model
from modelpivot.models.benchmark import Check, Measurement, Passed
from modelpivot.models.cutover import Cutover
from modelpivot.stages.context import Context


def note_passed(context: Context, cutover: Cutover, measurements: Sequence[Measurement], checks: Sequence[Check]) -> Passed:
    """Write down what was measured of the switch's candidate, and every check over it."""
    passed = Passed(cutover_id=cutover.id, run_id=context.run.id, measurements=list(measurements), checks=list(checks))
    write_model(context.state.run(cutover.run_id).passed, passed)
    return passed


def find_passed(context: Context, cutover: Cutover) -> Passed | None:
    """The receipt of this very switch, told as this run's own; None: not measured, or not passed."""
    passed = read_model(context.state.run(cutover.run_id).passed, Passed)
    if passed is None or passed.cutover_id != cutover.id:
        return None
    said = f"done in this switch by run {passed.run_id}"
    context.journal.stage("benchmark")("nothing_to_do", said, measurements=[one.model_dump(mode="json") for one in passed.measurements])
    context.journal.stage("gate")("nothing_to_do", said, checks=[check.model_dump(mode="json") for check in passed.checks])
    return passed
