"""What two sets of results say of each other: set-ups first, no figures where there is nothing to compare, and a verdict that knows its noise."""

from collections.abc import Sequence

import pytest

from modelpivot.models.benchmark import StoredResult
from modelpivot.models.comparison import Comparison, Verdict
from modelpivot.models.workload import Regression
from modelpivot.plans.baseline import choose_baseline
from modelpivot.plans.compare import Side, compare, join_verdicts, judge_change
from modelpivot.plans.gate import is_allowed, judge_comparison
from tests.benchmark.results import SETUP, SINGLE, result

QUIET = (60.0, 60.3, 59.7, 60.1)
SPEED = Regression(metrics=["output_tokens_per_s"])


def starts(speeds: Sequence[float], **fields: object) -> list[StoredResult]:
    """One start for each speed."""
    return [result(speed, start=f"{fields.get('release', 'model-1')}-{number}", **fields) for number, speed in enumerate(speeds)]  # type: ignore[arg-type]


def held(before: Sequence[float], after: Sequence[float], regression: Regression = SPEED) -> Comparison:
    """Speeds of two set-ups that differ in the engine's version."""
    newer = SETUP.model_copy(update={"engine_version": "0.27.0"})
    return compare(Side("old", starts(before)), Side("new", starts(after, setup=newer, release="model-2")), regression)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ((60.0, 60.2), "passed"),
        ((58.0, 58.2), "passed"),
        ((54.0, 54.2), "regressed"),
        ((66.0, 66.3), "improved"),
    ],
)
def test_a_quiet_machine_tells(after: tuple[float, ...], verdict: Verdict) -> None:
    """Noise far below the threshold: 3 % less passes, 10 % less is a regression, 10 % more an improvement."""
    assert held(QUIET, after).verdict == verdict


def test_a_latency_that_grows_is_a_regression() -> None:
    """Direction belongs to the metric: more milliseconds are worse."""
    changes = held(QUIET, (54.0, 54.2), Regression(metrics=["output_tokens_per_s", "median_ttft_ms"])).changes
    assert [(change.metric, change.verdict, change.change < 0) for change in changes] == [
        ("output_tokens_per_s", "regressed", True),
        ("median_ttft_ms", "regressed", True),
    ]


def test_one_start_against_one_start_cannot_tell() -> None:
    """B4: nothing was measured twice alike, so the noise is not known, however large the difference."""
    comparison = held([60.0], [30.0])
    assert (comparison.verdict, comparison.changes[0].band) == ("cannot tell", None)


def test_a_loud_machine_cannot_tell() -> None:
    """Starts that differ by a fifth hide a loss of 8 %; more of them tell."""
    loud = (50.0, 60.0, 70.0, 58.0)
    assert held(loud, (54.0,)).verdict == "cannot tell"


def test_noise_is_learned_from_other_set_ups_of_the_same_workload() -> None:
    """One start a side, and a history of an older version measured again and again on this host."""
    older = starts(QUIET, setup=SETUP.model_copy(update={"engine_version": "0.25.0"}))
    newer = SETUP.model_copy(update={"engine_version": "0.27.0"})
    sides = Side("old", [result(60.0, start="x")]), Side("new", [result(50.0, start="y", setup=newer)])
    assert compare(*sides, SPEED).verdict == "cannot tell"
    assert compare(*sides, SPEED, older).verdict == "regressed"


def test_another_hosts_noise_is_not_learned() -> None:
    """A loud machine in the same history widens no band; without starts of these hosts the noise is not known."""
    loud = starts((20.0, 60.0, 180.0), setup=SETUP.model_copy(update={"host": "gpu-2"}))
    newer = SETUP.model_copy(update={"engine_version": "0.27.0"})
    old, new = Side("old", starts(QUIET)), Side("new", starts((54.0, 54.2), setup=newer, release="model-2"))
    assert compare(old, new, SPEED, loud) == compare(old, new, SPEED)
    single = Side("old", [result(60.0, start="x")]), Side("new", [result(30.0, start="y", setup=newer)])
    assert compare(*single, SPEED, loud).changes[0].band is None


def test_noise_is_learned_from_the_hosts_of_both_sides() -> None:
    """Sides measured on two machines: the history of either counts."""
    elsewhere = SETUP.model_copy(update={"host": "gpu-2"})
    older = starts(QUIET, setup=elsewhere.model_copy(update={"engine_version": "0.25.0"}))
    sides = Side("old", [result(60.0, start="x")]), Side("new", [result(50.0, start="y", setup=elsewhere)])
    assert compare(*sides, SPEED, older).verdict == "regressed"


def test_repeats_within_one_start_are_one_start() -> None:
    """Ten measurements of one start are no ten starts: they teach nothing of the noise between starts."""
    repeated = [result(speed, start="only") for speed in QUIET]
    (change,) = compare(Side("old", repeated), Side("new", [result(54.0, start="other", release="model-2")]), SPEED).changes
    assert (change.baseline_starts, change.candidate_starts, change.verdict) == (1, 1, "cannot tell")


@pytest.mark.parametrize("field", ["prompts", "concurrency", "input_tokens", "output_tokens", "prefix_tokens", "seed"])
def test_another_workload_of_the_same_name_is_refused(field: str) -> None:
    """B3: the sentence names what differs, and there are no figures and no verdict."""
    other = SINGLE.model_copy(update={field: 7})
    comparison = compare(Side("old", [result()]), Side("new", [result(workload=other)]), SPEED)
    assert (comparison.changes, comparison.verdict) == ([], None)
    assert any(f"{field} {getattr(SINGLE, field)} in the baseline, 7 here" in reason for reason in comparison.refused)


def test_answers_of_another_length_are_refused() -> None:
    """B3: the model ended its answers itself, and they became shorter."""
    free = SINGLE.model_copy(update={"ignore_eos": False})
    shorter = result(workload=free, output_tokens=200)
    comparison = compare(Side("old", [result(workload=free)]), Side("new", [shorter]), SPEED)
    assert comparison.refused == ["single: answers of another length: 16.0 tokens in the baseline, 10.0 in the candidate"]


def test_what_is_not_valid_is_refused() -> None:
    """A side without figures gives none."""
    comparison = compare(Side("old", [result()]), Side("new", [result(None)]), SPEED)
    assert comparison.refused == ["single: no valid figures on the side of the candidate"]
    assert comparison.changes == []


def test_differences_of_the_set_up_are_named() -> None:
    """Every field that is not alike, and none that is."""
    newer = SETUP.model_copy(update={"engine_version": "0.27.0", "driver": "590.48.01"})
    comparison = compare(Side("old", [result()]), Side("new", [result(setup=newer)]), SPEED)
    assert [(one.field, one.baseline, one.candidate) for one in comparison.differences] == [
        ("driver", "580.159.04", "590.48.01"),
        ("engine_version", "0.26.0", "0.27.0"),
    ]


def test_thresholds_are_the_recipes() -> None:
    """A loss of 8 % is allowed where the recipe says 10 % for this metric."""
    assert held(QUIET, (55.2, 55.3)).verdict == "regressed"
    allowed = Regression(metrics=["output_tokens_per_s"], percents={"output_tokens_per_s": 10})
    assert held(QUIET, (55.2, 55.3), allowed).verdict == "passed"


def test_what_cannot_be_told_goes_on_unless_the_recipe_says_else() -> None:
    """A pivot is not stopped by ignorance, except where it shall be."""
    comparison = held([60.0], [30.0])
    careful = Regression(cannot_tell="return")
    assert [check.passed for check in judge_comparison(comparison, SPEED)] == [True]
    assert [is_allowed(change, careful) for change in comparison.changes] == [False]


@pytest.mark.parametrize(
    ("gain", "width", "verdict"),
    [
        (0.0, 0.04, "passed"),
        (0.0, 0.06, "cannot tell"),
        (-0.06, 0.04, "regressed"),
        (-0.06, 0.07, "cannot tell"),
        (-0.08, 0.07, "regressed"),
        (0.03, 0.07, "passed"),
        (0.08, 0.07, "improved"),
        (-1.0, None, "cannot tell"),
    ],
)
def test_a_change_counts_beyond_threshold_and_noise(gain: float, width: float | None, verdict: Verdict) -> None:
    """With a threshold of 0.05; a band that is wider is no proof of nothing, unless even its worst edge is allowed."""
    assert judge_change(gain, 0.05, width) == verdict


def test_the_worst_verdict_counts() -> None:
    """A regression is not made good by another metric's improvement, nor is doubt."""
    assert join_verdicts(["improved", "passed", "regressed", "cannot tell"]) == "regressed"
    assert join_verdicts(["improved", "cannot tell"]) == "cannot tell"
    assert join_verdicts(["passed", "improved"]) == "improved"
    assert join_verdicts([]) is None


def test_the_baseline_is_the_newest_accepted_set_up_of_this_machine_and_model() -> None:
    """Neither what was refused, nor another host, model or GPU, nor what this run measured itself."""
    older = starts(QUIET, at=1.0)
    newer = starts((61.0, 61.2), at=2.0, setup=SETUP.model_copy(update={"engine_version": "0.27.0"}), run_id="r2")
    others = [
        result(at=9.0, standing="refused", setup=SETUP.model_copy(update={"engine_version": "0.28.0"})),
        result(at=9.0, standing="measured"),
        result(None, at=9.0),
        result(at=9.0, setup=SETUP.model_copy(update={"host": "gpu-2"})),
        result(at=9.0, setup=SETUP.model_copy(update={"repo": "acme/faster"})),
        result(at=9.0, setup=SETUP.model_copy(update={"gpus": ["NVIDIA B200"]})),
        result(at=9.0, run_id="this"),
    ]
    assert choose_baseline([*older, *newer, *others], SETUP, "this") == newer


def test_a_first_pivot_has_no_baseline() -> None:
    """Another model was faster on this host: that is nobody's business."""
    assert choose_baseline(starts((600.0, 601.0)), SETUP.model_copy(update={"repo": "acme/slower"}), "this") == []
