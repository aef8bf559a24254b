"""What the engine's client wrote becomes a measurement, or the reasons why it says nothing (B1 and B2 of the faults)."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelpivot.benchmark.parse import parse_bench_json
from modelpivot.models.benchmark import Measurement
from modelpivot.models.workload import Workload

CAPTURES = Path(__file__).parents[1] / "captures"
CPU = (CAPTURES / "vllm-0.32-cpu-bench-serve.json").read_text()
SINGLE = Workload(name="single", prompts=20, concurrency=1, input_tokens=32, output_tokens=16)


def parse(**changes: Any) -> Measurement:
    """The real result with some of its fields changed."""
    return parse_bench_json(json.dumps({**json.loads(CPU), **changes}), SINGLE)


def test_a_real_result_of_the_cpu_engine() -> None:
    """Twenty requests, all good, figures as the client gave them."""
    measurement = parse_bench_json(CPU, SINGLE)
    assert measurement.invalid == []
    assert (measurement.requests, measurement.successes, measurement.success_rate, measurement.output_tokens) == (20, 20, 1.0, 320)
    assert measurement.output_tokens_per_s == pytest.approx(11.77, abs=0.01)
    assert measurement.median_ttft_ms == pytest.approx(44.95, abs=0.01)


@pytest.mark.parametrize("concurrency", [1, 16])
def test_real_results_of_a_gpu(concurrency: int) -> None:
    """Without the details of every request (an older version, not asked for) the summary decides."""
    text = (CAPTURES / f"vllm-0.26-h200-bench-serve-c{concurrency}.json").read_text()
    prompts = json.loads(text)["num_prompts"]
    measurement = parse_bench_json(
        text, Workload(name="gpu", prompts=prompts, concurrency=concurrency, input_tokens=512, output_tokens=128)
    )
    assert measurement.invalid == []
    assert measurement.concurrency == concurrency
    assert measurement.output_tokens_per_s is not None
    assert measurement.output_tokens_per_s > 100


def test_failed_requests_lower_the_success_rate_and_no_figure() -> None:
    """B1: four of twenty failed at once; they are counted as failed, and their zeros are no answers."""
    result = json.loads(CPU)
    failed = {"errors": ["refused"] * 4 + [""] * 16, "output_lens": [0] * 4 + [16] * 16, "ttfts": [0.0] * 4 + result["ttfts"][4:]}
    measurement = parse(completed=16, failed=4, total_output_tokens=256, **failed)
    assert measurement.invalid == []
    assert measurement.success_rate == 0.8


def test_nothing_succeeded_is_invalid_with_the_reason() -> None:
    """B1: the fastest server is one that refuses; the client's own words are kept."""
    measurement = parse(completed=0, failed=20, errors=["Traceback\nConnectionRefusedError: 8000"] * 20)
    assert measurement.invalid == ["none of 20 requests succeeded: ConnectionRefusedError: 8000"]
    assert (measurement.successes, measurement.output_tokens_per_s) == (0, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"total_output_tokens": 0},
        {"output_throughput": 0.0},
        {"median_ttft_ms": 0.0},
        {"median_tpot_ms": 0.0},
        {"median_ttft_ms": float("nan")},
        {"output_throughput": float("inf")},
        {"duration": 0.0},
        {"output_lens": [16] * 19 + [0]},
        {"output_lens": [16] * 19 + [3]},
        {"ttfts": [0.1] * 19 + [0.0]},
        {"num_prompts": 19},
        {"max_concurrency": 4},
    ],
    ids=str,
)
def test_figures_that_cannot_be_make_it_invalid(changes: dict[str, Any]) -> None:
    """B2, B3: zero tokens, zero time, answers of another length, another workload: reasons, and no figures."""
    measurement = parse(**changes)
    assert len(measurement.invalid) == 1
    assert (measurement.output_tokens_per_s, measurement.median_ttft_ms) == (None, None)


def test_one_token_answers_have_no_time_per_token() -> None:
    """A workload of one token an answer has no second one to wait for: that zero is right."""
    one = SINGLE.model_copy(update={"output_tokens": 1})
    text = json.dumps({**json.loads(CPU), "output_lens": [1] * 20, "median_tpot_ms": 0.0, "total_output_tokens": 20})
    assert parse_bench_json(text, one).invalid == []


@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '{"num_prompts": "many"}'])
def test_what_is_no_result_is_invalid(text: str) -> None:
    """A torn or foreign file is a reason, no exception."""
    assert parse_bench_json(text, SINGLE).invalid
