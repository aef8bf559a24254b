"""Starts of the real engine, each measured once by its own client: the plain engine, or one that rests after every step (tests/slow_engine.py)."""

import json
import os
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from modelpivot.benchmark.run import run_workload
from modelpivot.benchmark.setup import digest_setup, read_setup
from modelpivot.facts.engine import engine_environ
from modelpivot.host import kill_group
from modelpivot.models.benchmark import StoredResult
from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.models.workload import Workload
from modelpivot.recipes import read_engine
from modelpivot.waiting import wait_for
from tests.engine_environment import ENGINE
from tests.ports import free_port
from tests.weights.told import Told

SLOW_ENGINE = Path(__file__).parents[1] / "slow_engine.py"
FLAGS = ["--enforce-eager", "--max-model-len", "1024", "--dtype", "bfloat16"]
GROWN = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 16, "num_key_value_heads": 8}
"""Of the demo's old model, with weights that the engine makes up: steps of some 30 ms, of which the machine's own moods are a small part."""

CORES = sorted(os.sched_getaffinity(0))
ON_ITS_CORE = ["taskset", "-c", str(CORES[0])]
"""The first is the engine's, the others' the client's: two threads of an engine that wait for each other while a client takes a core of theirs
stand still for a tenth of a second at a time."""


def tiny_release(environment: EnvironmentProof, view: Path, scratch: Path, *, slower: float = 1.0) -> Release:
    """A release of the CPU engine over a folder of weights; `slower` than 1: every step takes so many times as long."""
    engine, port = read_engine(ENGINE), free_port()
    served = ["--model", str(view), "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)]
    served += ["--load-format", "dummy", "--hf-overrides", json.dumps(GROWN)]
    begin = engine.serve if slower == 1.0 else [str(SLOW_ENGINE), *engine.serve[2:]]
    variables = {**engine.serve_env, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CACHE_ROOT": str(scratch / "caches")}
    variables |= {} if slower == 1.0 else {"MODELPIVOT_TEST_SLOWER": str(slower)}
    return Release(
        id="tiny" if slower == 1.0 else f"tiny-{slower:g}-slower",
        name="tiny",
        serving_digest="0",
        repo="demo/old-qwen3",
        commit="0" * 40,
        weights_dir=view,
        view_dir=view,
        environment_dir=environment.path,
        engine=ENGINE,
        engine_version=environment.engine_version,
        start=StartSpec(
            argv=[*ON_ITS_CORE, str(environment.path / "bin/python"), *begin, *served, *FLAGS],
            environment=variables,
            working_directory=scratch,
        ),
        endpoint=Endpoint(bind="127.0.0.1", port=port, served_name="tiny"),
    )


@contextmanager
def served(made: Release, log: Path) -> Iterator[None]:
    """The engine, answering, in a group of its own that is killed whole in the end."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            made.start.argv, env=engine_environ(made.start.environment), stdout=output, stderr=output, start_new_session=True
        )

    def is_up() -> bool:
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            return httpx.get(f"{made.endpoint.base_url}/health", timeout=2).is_success
        except httpx.HTTPError:
            return False

    try:
        wait_for(is_up, lambda up, _: up or None, what="the engine answers", deadline_s=300)
        yield
    finally:
        kill_group(process.pid)
        process.wait()


@contextmanager
def beside_the_engine() -> Iterator[None]:
    """This process, and the clients it starts, leave the engine's core alone."""
    os.sched_setaffinity(0, CORES[1:] or CORES)
    try:
        yield
    finally:
        os.sched_setaffinity(0, CORES)


def record_start(host: HostConfig, made: Release, workloads: Sequence[Workload], scratch: Path) -> list[StoredResult]:
    """One start: the engine up, every point of the workloads measured, the engine gone."""
    start, setup = uuid.uuid4().hex[:8], read_setup(host, made)
    with beside_the_engine(), served(made, scratch / f"{start}.log"):
        return [
            StoredResult(
                id=uuid.uuid4().hex,
                run_id=f"run-{start}",
                release=made.id,
                recipe="tiny",
                standing="accepted",
                setup=setup,
                setup_digest=digest_setup(setup),
                workload=point,
                measurement=run_workload(made, point, scratch / start, Told(), number=repeat + 1, start=start),
            )
            for workload in workloads
            for point in workload.points()
            for repeat in range(point.repeats)
        ]
