"""The engine's own counters make figures void, however good the client's look (kin of B1 to B3)."""

from typing import Any

import pytest

from modelpivot.benchmark.run import with_load, with_prompts
from modelpivot.models.benchmark import Measurement, ServerLoad
from tests.benchmark.results import SINGLE, result

QUIET: dict[str, Any] = {
    "requests": 22,
    "own_requests": 0,
    "foreign_requests": 0,
    "preemptions": 0,
    "prompt_tokens": 704,
    "generation_tokens": 352,
    "prefix_hit_rate": 0.09,
    "peak_kv_use": 0.1,
    "peak_waiting": 0,
    "peak_running": 1,
}


def judged(workload: Any = SINGLE, **changes: Any) -> Measurement:
    """A good measurement with what the engine counted."""
    return with_load(result(workload=workload).measurement, workload, ServerLoad(**(QUIET | changes)), [])


def test_a_quiet_engine_lets_figures_stand() -> None:
    """Only the benchmark asked, the warm-ups were cached and nothing else, the tokens agree."""
    measurement = judged()
    assert (measurement.invalid, measurement.warnings, measurement.output_tokens_per_s) == ([], [], 60.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"foreign_requests": 1, "requests": 23}, "requests of others while it was measured: expected 0, found 1"),
        ({"prefix_hit_rate": 0.95}, "prompts that the engine had seen before: expected at most 19% of their tokens, found 95%"),
        ({"generation_tokens": 300}, "generated tokens: the client counted 352 with its warm-ups, the engine 300"),
    ],
)
def test_a_void_measurement_has_reasons_and_no_figures(changes: dict[str, Any], said: str) -> None:
    """Strangers, cached prompts, another number of tokens."""
    measurement = judged(**changes)
    assert len(measurement.invalid) == 1
    assert measurement.invalid[0].startswith(said)
    assert measurement.output_tokens_per_s is measurement.median_ttft_ms is measurement.duration_s is None
    assert (measurement.requests, measurement.successes, measurement.server is not None) == (20, 20, True)


def test_a_shared_prefix_is_meant_to_be_cached() -> None:
    """That is what such a workload measures."""
    assert judged(SINGLE.model_copy(update={"prefix_tokens": 512}), prefix_hit_rate=0.95).invalid == []


def test_our_own_requests_are_no_reason() -> None:
    """The client that watches the service goes on asking; its tokens are then not held against the benchmark's."""
    assert judged(own_requests=3, requests=25, generation_tokens=358).invalid == []


def test_preemptions_are_told_and_let_figures_stand() -> None:
    """Too small a KV cache is a finding, no fault of the measurement."""
    assert judged(preemptions=4).warnings == ["4 preemptions: the KV cache was too small for this concurrency"]


def test_an_engine_without_counters_is_told() -> None:
    """Figures stand; that strangers were not looked for is said."""
    measurement = with_load(result().measurement, SINGLE, None, [])
    assert measurement.output_tokens_per_s == 60.0
    assert "no /metrics" in measurement.warnings[0]


def test_every_measurement_in_one_start_has_prompts_of_its_own() -> None:
    """The engine remembers those it has seen; with one seed, a larger number of prompts begins with those of a smaller one.

    Nothing else changes, and the same measurement has the same prompts in every start.
    """
    wider = SINGLE.model_copy(update={"prompts": 64, "concurrency": 16})
    asked = [with_prompts(workload, number) for workload in (SINGLE, wider) for number in (1, 2, 3)]
    assert len({one.seed for one in asked}) == 6
    assert asked == [with_prompts(workload, number) for workload in (SINGLE, wider) for number in (1, 2, 3)]
    assert all(one.model_copy(update={"seed": 0}) in (SINGLE, wider) for one in asked)
    assert all(0 <= one.seed < 2**31 for one in asked)
