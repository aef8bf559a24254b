"""The JSON of `vllm bench serve --save-detailed` as a Measurement. Pure; a result that says nothing carries its reasons and no figures.

{"num_prompts": 16, "max_concurrency": 1, "duration": 16.30, "completed": 16, "failed": 0, "total_output_tokens": 2048,
 "output_throughput": 125.62, "median_ttft_ms": 23.45, "median_tpot_ms": 7.46, "ttfts": [0.024, ...], "output_lens": [128, ...],
 "errors": ["", ...]}
"""

import math

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from modelpivot.files import describe_invalid
from modelpivot.models.benchmark import Measurement
from modelpivot.models.json_text import read_json
from modelpivot.models.workload import Workload


class Result(BaseModel):
    """What we read of the engine's result; it says more. Throughput and latencies are over successful requests."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    num_prompts: int
    completed: int
    duration: float
    max_concurrency: int | None = None
    total_output_tokens: int
    output_throughput: float
    request_throughput: float | None = None
    median_ttft_ms: float
    median_tpot_ms: float
    p99_ttft_ms: float | None = None
    p99_tpot_ms: float | None = None
    ttfts: list[float] = Field(default_factory=list)
    """Seconds, one a request, failed ones included."""
    output_lens: list[int] = Field(default_factory=list)
    errors: list[str] = Field(default_factory=list)
    """Empty for a request that succeeded."""


def parse_bench_json(text: str, workload: Workload) -> Measurement:
    """The measurement of a workload; `invalid` names everything that makes it say nothing."""
    try:
        result = Result.model_validate(read_json(text))
    except ValidationError as error:
        return without_figures(workload, [f"the result lacks what is needed: {describe_invalid(error)}"])
    except ValueError as error:
        return without_figures(workload, [f"the result is no JSON: {error}"])
    if invalid := find_invalid(result, workload):
        return without_figures(workload, invalid, requests=result.num_prompts, successes=result.completed)
    return Measurement(
        workload=workload.name,
        requests=result.num_prompts,
        successes=result.completed,
        concurrency=workload.concurrency,
        duration_s=result.duration,
        output_tokens=result.total_output_tokens,
        output_tokens_per_s=result.output_throughput,
        requests_per_s=_finite(result.request_throughput),
        median_ttft_ms=result.median_ttft_ms,
        median_tpot_ms=result.median_tpot_ms,
        p99_ttft_ms=_finite(result.p99_ttft_ms),
        p99_tpot_ms=_finite(result.p99_tpot_ms),
        workload_digest=workload.digest,
        seed=workload.seed,
    )


def without_figures(workload: Workload, invalid: list[str], *, requests: int = 0, successes: int = 0) -> Measurement:
    """A measurement that says only why it says nothing."""
    return Measurement(
        workload=workload.name,
        requests=requests,
        successes=successes,
        concurrency=workload.concurrency,
        invalid=invalid,
        workload_digest=workload.digest,
        seed=workload.seed,
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value > 0 else None


def find_invalid(result: Result, workload: Workload) -> list[str]:
    """Why the figures say nothing: another workload than asked for, nothing succeeded, a figure that cannot be, answers of another length."""
    return [*_other_workload(result, workload), *_impossible(result, workload), *_odd_answers(result, workload)]


def _other_workload(result: Result, workload: Workload) -> list[str]:
    asked = [("prompts", workload.prompts, result.num_prompts)]
    asked += [("concurrency", workload.concurrency, result.max_concurrency)] if result.max_concurrency is not None else []
    return [f"{name}: expected {expected}, found {found}" for name, expected, found in asked if expected != found]


def _impossible(result: Result, workload: Workload) -> list[str]:
    if result.completed <= 0:
        words = next((error.strip().splitlines()[-1] for error in result.errors if error.strip()), "")
        return [f"none of {result.num_prompts} requests succeeded{': ' + words if words else ''}"]
    figures = {
        "duration": result.duration,
        "output tokens": result.total_output_tokens,
        "output tokens per second": result.output_throughput,
        "median time to first token": result.median_ttft_ms,
    }
    if workload.output_tokens > 1:
        figures["median time per output token"] = result.median_tpot_ms
    return [f"{name}: expected more than 0, found {value}" for name, value in figures.items() if not (math.isfinite(value) and value > 0)]


def _odd_answers(result: Result, workload: Workload) -> list[str]:
    succeeded = [index for index in range(len(result.errors)) if not result.errors[index]]
    lengths = [result.output_lens[index] for index in succeeded if index < len(result.output_lens)]
    firsts = [result.ttfts[index] for index in succeeded if index < len(result.ttfts)]
    empty = sum(length <= 0 for length in lengths)
    odd = sum(length > workload.output_tokens or (workload.ignore_eos and 0 < length != workload.output_tokens) for length in lengths)
    timeless = sum(not first > 0 for first in firsts)
    said = {
        f"answers without a token: {empty} of {len(lengths)}": empty,
        f"answers of another length than {workload.output_tokens} tokens: {odd} of {len(lengths)}": odd,
        f"answers without a time to first token: {timeless} of {len(firsts)}": timeless,
    }
    return [sentence for sentence, count in said.items() if count]
