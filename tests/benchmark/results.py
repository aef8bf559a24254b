"""Results as tests write them: one line says what differs."""

import uuid
from typing import Any

from modelpivot.benchmark.setup import digest_setup
from modelpivot.models.benchmark import Measurement, ServerLoad, Setup, Standing, StoredResult
from modelpivot.models.workload import Workload

SINGLE = Workload(name="single", prompts=20, input_tokens=32, output_tokens=16)
LOAD = ServerLoad(
    requests=22,
    own_requests=1,
    foreign_requests=0,
    preemptions=0,
    prompt_tokens=700,
    generation_tokens=352,
    prefix_hit_rate=0.05,
    peak_kv_use=0.2,
    peak_waiting=0,
    peak_running=1,
)
SETUP = Setup(
    host="gpu-1",
    gpus=["NVIDIA H200 143771 MiB"],
    driver="580.159.04",
    cpus="16 x some",
    repo="acme/model",
    commit="a" * 40,
    engine="vllm",
    engine_version="0.26.0",
    freeze_digest="f" * 64,
)


def result(
    speed: float | None = 60.0,
    *,
    start: str = "s1",
    run_id: str = "r1",
    at: float = 1000.0,
    workload: Workload = SINGLE,
    standing: Standing = "accepted",
    setup: Setup = SETUP,
    release: str = "model-1",
    **figures: Any,
) -> StoredResult:
    """A result with this speed, and latencies that fit it; None: not valid."""
    tokens = workload.prompts * workload.output_tokens
    said: dict[str, Any] = {"invalid": ["zero tokens"]}
    if speed is not None:
        said = {
            "output_tokens_per_s": speed,
            "median_ttft_ms": 6000 / speed,
            "median_tpot_ms": 1000 / speed,
            "output_tokens": tokens,
            "duration_s": tokens / speed,
        }
    measurement = Measurement(
        workload=workload.name,
        requests=workload.prompts,
        successes=workload.prompts,
        concurrency=workload.concurrency,
        workload_digest=workload.digest,
        start=start,
        at=at,
        **(said | figures),
    )
    return StoredResult(
        id=uuid.uuid4().hex,
        run_id=run_id,
        release=release,
        recipe="model",
        standing=standing,
        setup=setup,
        setup_digest=digest_setup(setup),
        workload=workload,
        measurement=measurement,
    )
