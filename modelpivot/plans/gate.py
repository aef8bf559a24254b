"""Whether what was measured is good enough to promote. Pure.

Floors of the recipe decide always; where the same model was measured on this host before, the comparison with that does too. A model is never
held against another one.
"""

from collections.abc import Iterator, Sequence

from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.comparison import Change, Comparison
from modelpivot.models.workload import Floor, Regression, Workload

METRIC_WORDS = {
    "output_tokens_per_s": "output tokens per second",
    "requests_per_s": "requests per second",
    "median_ttft_ms": "median time to first token",
    "median_tpot_ms": "median time per output token",
    "p99_ttft_ms": "99th percentile of the time to first token",
    "p99_tpot_ms": "99th percentile of the time per output token",
}


def judge_measured(measurements: Sequence[Measurement], workloads: Sequence[Workload]) -> list[Check]:
    """Every workload was measured, and all of its figures say something."""
    return [_judge_valid(workload.name, of_workload(measurements, workload.name)) for workload in workloads]


def judge_floors(measurements: Sequence[Measurement], floors: Sequence[Floor]) -> list[Check]:
    """Every floor against its workload, the worst of repeated ones. The success rate comes first; without valid figures all of it fails."""
    return [check for floor in floors for check in _judge_floor(floor, of_workload(measurements, floor.workload))]


def judge_comparison(comparison: Comparison, regression: Regression) -> list[Check]:
    """One check for each metric that could be compared. What cannot be told passes, unless the recipe says else."""
    return [
        Check(
            name=f"{change.workload}: {METRIC_WORDS[change.metric]} against the baseline",
            passed=is_allowed(change, regression),
            expected=f"a loss of at most {change.threshold:.1%} from {change.baseline:.5g}",
            found=say_change(change),
        )
        for change in comparison.changes
    ]


def is_allowed(change: Change, regression: Regression) -> bool:
    """Whether this change lets a pivot go on."""
    return change.verdict in ("passed", "improved") or (change.verdict == "cannot tell" and regression.cannot_tell == "promote")


def say_change(change: Change) -> str:
    """`52.1 (-13.2%, noise 2.1%): regressed`, with the number of starts where they are few."""
    noise = "noise not known" if change.band is None else f"noise {change.band:.1%}"
    return f"{change.candidate:.5g} ({change.change:+.1%}, {noise}): {change.verdict}"


def of_workload(measurements: Sequence[Measurement], name: str) -> list[Measurement]:
    """All measurements of one workload."""
    return [measurement for measurement in measurements if measurement.workload == name]


def _judge_valid(name: str, measured: Sequence[Measurement]) -> Check:
    reasons = [reason for measurement in measured for reason in measurement.invalid]
    said = "; ".join(dict.fromkeys(reasons)) if measured else "not measured"
    return Check(name=f"{name}: valid", passed=not said, expected="figures that say something", found=said or "valid")


def _judge_floor(floor: Floor, measured: Sequence[Measurement]) -> list[Check]:
    valid = _judge_valid(floor.workload, measured)
    if not valid.passed:
        return [valid.model_copy(update={"name": f"{floor.workload}: floors"})]
    successes, requests = (sum(getattr(one, name) for one in measured) for name in ("successes", "requests"))
    rate = Check(
        name=f"{floor.workload}: success rate",
        passed=successes >= floor.success_rate * requests,
        expected=f"at least {floor.success_rate:.1%}",
        found=f"{successes / requests:.1%} ({successes} of {requests})",
    )
    return [rate, *_judge_figures(floor, measured)]


def _judge_figures(floor: Floor, measured: Sequence[Measurement]) -> Iterator[Check]:
    speed = min(one.output_tokens_per_s or 0.0 for one in measured)
    yield Check(
        name=f"{floor.workload}: output tokens per second",
        passed=speed >= floor.output_tokens_per_s,
        expected=f"at least {floor.output_tokens_per_s:g}",
        found=f"{speed:.2f}",
    )
    for words, most, found in (
        ("median time to first token", floor.median_ttft_ms, [one.median_ttft_ms for one in measured]),
        ("median time per output token", floor.median_tpot_ms, [one.median_tpot_ms for one in measured]),
    ):
        if most is not None:
            worst = max((value for value in found if value is not None), default=float("inf"))
            yield Check(name=f"{floor.workload}: {words}", passed=worst <= most, expected=f"at most {most:g} ms", found=f"{worst:.1f} ms")
