"""How often the gate is wrong: by chance draws with the spread of real starts of one H200 (tests/captures), and on those starts themselves."""

from collections import Counter
from itertools import combinations

import pytest

from modelpivot.models.workload import Regression
from modelpivot.plans.compare import Side, compare
from tests.plans.drawing import Machine, recorded

DRAWS = 300


def verdicts(slower: float, regression: Regression, baseline_starts: int) -> Counter[str]:
    """The last word of so many gates."""
    machine = Machine(seed=8)
    return Counter(str(machine.judge(regression, baseline_starts=baseline_starts, slower=slower)[-1].verdict) for _ in range(DRAWS))


@pytest.mark.parametrize("baseline_starts", [3, 10])
def test_alarms_where_nothing_changed_are_rare(baseline_starts: int) -> None:
    """A against A: the same engine on both sides, up to five starts of the candidate, six figures judged at once. 5 % is what it promises."""
    found = verdicts(0.0, Regression(), baseline_starts)
    assert found["regressed"] <= 0.05 * DRAWS
    assert found["improved"] <= 0.05 * DRAWS


def test_a_tenth_less_is_found() -> None:
    """Every figure worse by 10 %: found in nineteen of twenty gates with a baseline of ten starts, and never passed."""
    found = verdicts(0.1, Regression(), 10)
    assert found["regressed"] >= 0.95 * DRAWS
    assert found["passed"] == found["improved"] == 0


def test_with_enough_starts_the_same_passes() -> None:
    """Doubt is no verdict for ever: twenty old starts and up to fifteen new ones tell of the speed that it is the same."""
    found = verdicts(0.0, Regression(metrics=["output_tokens_per_s"], starts=15), 20)
    assert found["passed"] >= 0.7 * DRAWS


def test_the_planted_slowdown_is_found_in_the_recorded_starts() -> None:
    """The real engine, every step 1.11 times as long, against the plain one: three starts against seven, one stream."""
    plain, slow = ([one for one in side if one.workload.name == "single"] for side in recorded())
    comparison = compare(Side("plain", plain), Side("slow", slow), Regression(metrics=["output_tokens_per_s", "median_tpot_ms"]))
    assert [change.verdict for change in comparison.changes] == ["regressed", "regressed"]
    assert comparison.changes[0].change == pytest.approx(-0.10, abs=0.02)


def test_halves_of_the_recorded_starts_raise_no_alarm() -> None:
    """The plain engine against itself: every way to take three of its seven starts as the candidate."""
    plain, _ = recorded()
    starts = list(dict.fromkeys(one.measurement.start for one in plain))
    alarms = Counter(
        str(
            compare(
                Side("rest", [one for one in plain if one.measurement.start not in chosen]),
                Side("chosen", [one for one in plain if one.measurement.start in chosen]),
                Regression(),
            ).verdict
        )
        for chosen in combinations(starts, 3)
    )
    assert sum(alarms.values()) == 35
    assert alarms["regressed"] <= 2
