"""Measure one workload with the engine's own client (`vllm bench serve`), under the engine's Python, against a release that answers.

<out>/<workload>.json   the client's result; its further measurements are <workload>.2.json and so on
<out>/<workload>.log    its full output
"""

import re
import time
from pathlib import Path

from modelpivot.benchmark.parse import parse_bench_json, without_figures
from modelpivot.benchmark.validity import judge_load, warn_of_load
from modelpivot.benchmark.watch import Watch
from modelpivot.errors import CommandFailed
from modelpivot.facts.engine import engine_environ, inside_argv
from modelpivot.host import run_attached
from modelpivot.models.benchmark import GpuLoad, Measurement, ServerLoad
from modelpivot.models.event import Tell
from modelpivot.models.release import Release
from modelpivot.models.workload import Workload

START_DEADLINE_S = 600.0
SLOWEST_TOKENS_PER_S = 1.0
"""Per stream; a workload slower than this has missed every floor."""
SEED_STEP = 1000
LARGEST_SEED = 2**31
SAFE = re.compile(r"[^A-Za-z0-9._-]")


def run_workload(
    release: Release, workload: Workload, out: Path, tell: Tell, *, number: int = 1, asked: Path | None = None, start: str = ""
) -> Measurement:
    """The measurement; a client that fails or outlives its deadline gives one without figures that says why. Needs a release that answers.

    `number` counts measurements of the same workload in one start of the engine, each with prompts of its own, since the engine remembers those
    it has seen; `asked` is where our own requests to this engine are counted (state/asked.py); `start` names the engine's start.
    """
    result = free_name(out, workload, number)
    out.mkdir(parents=True, exist_ok=True)
    tell("log", f"{workload.name}: {workload.prompts} prompts of {workload.input_tokens} tokens, {workload.concurrency} at once")
    at, watch = time.time(), Watch(release.endpoint, asked)
    try:
        measured = _run_client(release, with_prompts(workload, number), result)
    finally:
        load, gpus = watch.end(workload.prompts + workload.warm_ups)
    judged = with_load(measured, workload, load, gpus)
    return judged.model_copy(update={"at": at, "start": start, "workload_digest": workload.digest})


def with_prompts(workload: Workload, number: int) -> Workload:
    """The workload with the prompts of its nth measurement in one start: the seed moves, and nothing else.

    Each workload begins at a seed of its own: with the same one, prompts of a larger number begin with those of a smaller one.
    """
    own = int(workload.digest[:8], 16) + SEED_STEP * (number - 1)
    return workload.model_copy(update={"seed": (workload.seed + own) % LARGEST_SEED})


def free_name(out: Path, workload: Workload, number: int) -> Path:
    """Where the client's result goes; one that an earlier try left is taken away."""
    path = out / f"{SAFE.sub('_', workload.name)}{f'.{number}' if number > 1 else ''}.json"
    path.unlink(missing_ok=True)
    return path


def with_load(measured: Measurement, workload: Workload, load: ServerLoad | None, gpus: list[GpuLoad]) -> Measurement:
    """Pure: the measurement with what the engine and the GPUs say; what they make void keeps no figures."""
    reasons = judge_load(measured, workload, load) if load and not measured.invalid else []
    if reasons:
        measured = without_figures(workload, reasons, requests=measured.requests, successes=measured.successes)
    return measured.model_copy(update={"server": load, "gpus": gpus, "warnings": [] if measured.invalid else warn_of_load(load)})


def _run_client(release: Release, workload: Workload, result: Path) -> Measurement:
    argv = inside_argv(release.environment_dir, "bench_serve.py", bench_arguments(release, workload, result))
    log = result.with_suffix(".log")
    try:
        with log.open("w") as file:
            run_attached(argv, timeout_s=deadline_s(workload), env=bench_environ(release), listen=lambda line: print(line, file=file))
        return parse_bench_json(result.read_text(), workload)
    except CommandFailed as error:
        return without_figures(workload, ["; ".join([error.message, *error.last_lines[-3:]])])
    except FileNotFoundError:
        return without_figures(workload, [f"the benchmark client wrote no result; its output: {log}"])


def bench_arguments(release: Release, workload: Workload, result: Path) -> list[str]:
    """Pure: the flags of `vllm bench serve`. Random prompts from a seed, greedy, no request that it does not tell of."""
    flags: dict[str, str | Path | int] = {
        "backend": "openai",
        "base-url": release.endpoint.base_url,
        "endpoint": "/v1/completions",
        "model": release.endpoint.served_name,
        "tokenizer": release.view_dir,
        "dataset-name": "random",
        "random-input-len": workload.input_tokens,
        "random-output-len": workload.output_tokens,
        "random-prefix-len": workload.prefix_tokens,
        "num-prompts": workload.prompts,
        "max-concurrency": workload.concurrency,
        "seed": workload.seed,
        "num-warmups": workload.warm_ups,
        "ready-check-timeout-sec": 0,
        "percentile-metrics": "ttft,tpot,itl",
        "metric-percentiles": "99",
        "temperature": 0,
        "result-dir": result.parent,
        "result-filename": result.name,
    }
    bare = ["--save-result", "--save-detailed", "--disable-tqdm"] + (["--ignore-eos"] if workload.ignore_eos else [])
    bare += ["--trust-remote-code"] if "--trust-remote-code" in release.start.argv else []
    return [word for name, value in flags.items() for word in (f"--{name}", str(value))] + bare


def bench_environ(release: Release) -> dict[str, str]:
    """The release's variables, no GPU (its memory belongs to the engine), and the key of the endpoint where it has one."""
    key = release.endpoint.api_key_file
    own = {"CUDA_VISIBLE_DEVICES": ""} | ({"OPENAI_API_KEY": key.read_text().strip()} if key else {})
    return engine_environ(release.start.environment | own)


def deadline_s(workload: Workload) -> float:
    """Seconds that the whole client may take: its own start, and the answers at the slowest speed that is still one."""
    rounds = -(-(workload.prompts + workload.warm_ups) // workload.concurrency)
    return START_DEADLINE_S + rounds * workload.output_tokens / SLOWEST_TOKENS_PER_S
