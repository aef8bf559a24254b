"""Promote or not: floors of the recipe against what was measured."""

import pytest

from modelpivot.models.benchmark import Measurement
from modelpivot.models.workload import Floor, Workload
from modelpivot.plans.gate import judge_floors, judge_measured

GOOD = Measurement(
    workload="single",
    requests=20,
    successes=20,
    concurrency=1,
    duration_s=10,
    output_tokens=320,
    output_tokens_per_s=60.0,
    median_ttft_ms=120.0,
    median_tpot_ms=16.0,
)


def failed(floor: Floor, measurement: Measurement = GOOD) -> list[str]:
    """Names of the checks that failed."""
    return [check.name for check in judge_floors([measurement], [floor]) if not check.passed]


@pytest.mark.parametrize(
    ("floor", "missed"),
    [
        (Floor(workload="single"), []),
        (Floor(workload="single", output_tokens_per_s=60.0, median_ttft_ms=120.0), []),
        (Floor(workload="single", output_tokens_per_s=60.1), ["single: output tokens per second"]),
        (Floor(workload="single", median_ttft_ms=119.9), ["single: median time to first token"]),
    ],
)
def test_a_floor_is_the_least_that_passes(floor: Floor, missed: list[str]) -> None:
    """Exactly on the floor passes, a little below fails, what the recipe leaves out is not judged."""
    assert failed(floor) == missed


def test_the_success_rate_comes_first() -> None:
    """One of twenty failed: that check fails, and it is the first that is told."""
    checks = judge_floors([GOOD.model_copy(update={"successes": 19})], [Floor(workload="single")])
    assert (checks[0].name, checks[0].passed, checks[0].found) == ("single: success rate", False, "95.0% (19 of 20)")


def test_figures_of_an_invalid_run_pass_no_floor() -> None:
    """Reasons instead of figures: every floor of the workload fails as one check, whatever the figures say."""
    assert failed(Floor(workload="single"), GOOD.model_copy(update={"invalid": ["zero tokens"]})) == ["single: floors"]


def test_a_floor_without_a_measurement_fails() -> None:
    """Nothing measured is no pass."""
    assert [check.passed for check in judge_floors([], [Floor(workload="single")])] == [False]


def test_every_workload_must_have_been_measured() -> None:
    """Also those that no floor names: missing and invalid ones fail with their reason."""
    workloads = [Workload(name="single"), Workload(name="many"), Workload(name="bad")]
    bad = GOOD.model_copy(update={"workload": "bad", "invalid": ["zero tokens", "no time"]})
    checks = judge_measured([GOOD, bad], workloads)
    assert [(check.passed, check.found) for check in checks] == [(True, "valid"), (False, "not measured"), (False, "zero tokens; no time")]
