"""Whether what was measured is good enough to promote. Pure. The first pivot to a model has no baseline: absolute floors of the recipe decide."""

from collections.abc import Sequence

from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.recipe import Floor, Workload


def judge_measured(measurements: Sequence[Measurement], workloads: Sequence[Workload]) -> list[Check]:
    """Every workload of the recipe was measured, and its figures say something."""
    found = {measurement.workload: measurement for measurement in measurements}
    return [_judge_valid(workload.name, found.get(workload.name)) for workload in workloads]


def judge_floors(measurements: Sequence[Measurement], floors: Sequence[Floor]) -> list[Check]:
    """Every floor against its workload. The success rate comes first; a workload without valid figures fails all of its floors."""
    found = {measurement.workload: measurement for measurement in measurements}
    return [check for floor in floors for check in _judge_floor(floor, found.get(floor.workload))]


def _judge_valid(name: str, measurement: Measurement | None) -> Check:
    said = "not measured" if measurement is None else "; ".join(measurement.invalid)
    return Check(name=f"{name}: valid", passed=not said, expected="figures that say something", found=said or "valid")


def _judge_floor(floor: Floor, measurement: Measurement | None) -> list[Check]:
    if measurement is None or measurement.invalid:
        return [_judge_valid(floor.workload, measurement).model_copy(update={"name": f"{floor.workload}: floors"})]
    checks = [
        Check(
            name=f"{floor.workload}: success rate",
            passed=measurement.success_rate >= floor.success_rate,
            expected=f"at least {floor.success_rate:.1%}",
            found=f"{measurement.success_rate:.1%} ({measurement.successes} of {measurement.requests})",
        ),
        Check(
            name=f"{floor.workload}: output tokens per second",
            passed=measurement.output_tokens_per_s >= floor.output_tokens_per_s,
            expected=f"at least {floor.output_tokens_per_s:g}",
            found=f"{measurement.output_tokens_per_s:.2f}",
        ),
    ]
    if floor.median_ttft_ms is not None:
        checks.append(
            Check(
                name=f"{floor.workload}: median time to first token",
                passed=measurement.median_ttft_ms <= floor.median_ttft_ms,
                expected=f"at most {floor.median_ttft_ms:g} ms",
                found=f"{measurement.median_ttft_ms:.1f} ms",
            )
        )
    return checks
