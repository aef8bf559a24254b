"""The gate with the real engine on this machine's CPU: an A/A test, a planted slowdown, and the engine's client run by hand.

Long: thirty-seven starts, some forty minutes. Run it where nothing else runs: `pytest tests/benchmark/test_real_starts.py -s`.
"""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from modelpivot.benchmark.run import bench_environ, run_workload
from modelpivot.host import run_command
from modelpivot.models.benchmark import StoredResult
from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.host import HostConfig
from modelpivot.models.workload import Regression, Workload
from modelpivot.plans.compare import Side, compare
from modelpivot.plans.gate import say_change
from tests.benchmark.recording import beside_the_engine, record_start, served, tiny_release
from tests.engine_environment import engine_environment, engine_host, engine_models
from tests.weights.told import Told

__all__ = ["engine_environment", "engine_host", "engine_models"]
pytestmark = [pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(7200)]

SINGLE = Workload(name="single", prompts=16, input_tokens=64, output_tokens=64, repeats=1)
SPEED = Regression(metrics=["output_tokens_per_s", "median_tpot_ms"])
STARTS = 12
"""A side. Starts of this engine move by some 4 % on a quiet small machine, by more on a loud one."""


def test_a_planted_slowdown_is_found_and_the_same_engine_raises_no_alarm(
    engine_host: HostConfig, engine_environment: EnvironmentProof, engine_models: dict[str, Path], tmp_path: Path
) -> None:
    """Twelve starts each of the engine, of itself again, and of one whose steps take 1.11 times as long."""
    sides: dict[str, list[StoredResult]] = {"baseline": [], "again": [], "slow": []}
    for _ in range(STARTS):
        for name, results in sides.items():
            made = tiny_release(engine_environment, engine_models["old"], tmp_path, slower=1.11 if name == "slow" else 1.0)
            results += record_start(engine_host, made, [SINGLE], tmp_path)
            print(name, *(f"{results[-1].measurement.figure(metric):.2f}" for metric in SPEED.metrics), flush=True)
    assert [one.measurement.invalid for results in sides.values() for one in results if one.measurement.invalid] == []
    again, slow = (compare(Side("baseline", sides["baseline"]), Side(name, sides[name]), SPEED) for name in ("again", "slow"))
    for comparison in (again, slow):
        print(*(f"{comparison.candidate}: {change.metric} {say_change(change)}" for change in comparison.changes), sep="\n")
    assert again.verdict != "regressed"
    assert slow.verdict == "regressed"


def test_figures_are_those_of_the_engines_client_run_by_hand(
    engine_environment: EnvironmentProof, engine_models: dict[str, Path], tmp_path: Path
) -> None:
    """One start; the product's measurement and a bare run of the engine's module, in turn, twice each, with the same prompts out of reach of
    each other: medians agree within what two runs of either differ by, and 5 %."""
    made = tiny_release(engine_environment, engine_models["old"], tmp_path)
    ours: list[float] = []
    by_hand: list[float] = []
    with beside_the_engine(), served(made, tmp_path / "log"):
        run_workload(made, SINGLE, tmp_path / "warm", Told(), number=9)
        for number in (1, 2, 3):
            measured = run_workload(made, SINGLE, tmp_path / "ours", Told(), number=number)
            assert measured.invalid == []
            ours.append(measured.output_tokens_per_s or 0.0)
            by_hand.append(bare_client(engine_environment.path, made.endpoint.base_url, engine_models["old"], 100 + number, tmp_path))
    print("ours", ours, "by hand", by_hand)
    noise = max(abs(one - two) / two for runs in (ours, by_hand) for one, two in pairwise(runs))
    difference = abs(sorted(ours)[1] / sorted(by_hand)[1] - 1)
    assert difference <= max(noise, 0.05)


def bare_client(environment: Path, base_url: str, model: Path, seed: int, folder: Path) -> float:
    """Output tokens per second, by the flags that its documentation names."""
    words = (
        f"--backend openai --base-url {base_url} --endpoint /v1/completions --model tiny --tokenizer {model} --dataset-name random"
        f" --random-input-len {SINGLE.input_tokens} --random-output-len {SINGLE.output_tokens} --num-prompts {SINGLE.prompts}"
        f" --max-concurrency 1 --num-warmups 2 --seed {seed} --ignore-eos --temperature 0"
        f" --save-result --result-dir {folder} --result-filename {seed}.json"
    ).split()
    script = "import argparse; from vllm.benchmarks.serve import add_cli_args, main; p = argparse.ArgumentParser(); add_cli_args(p); main(p.parse_args())"
    release = tiny_release_environ(environment, model, folder)
    run_command([environment / "bin/python", "-c", script, *words], timeout_s=600, env=release, cwd=folder)
    return float(json.loads((folder / f"{seed}.json").read_text())["output_throughput"])


def tiny_release_environ(environment: Path, model: Path, folder: Path) -> dict[str, str]:
    """The variables that the engine and its client run with."""
    proof = EnvironmentProof(path=environment, engine="", engine_version="", freeze_digest="", packages=0, proved_at=0, new=False)
    return bench_environ(tiny_release(proof, model, folder))
