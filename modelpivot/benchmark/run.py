"""Measure one workload with the engine's own client (`vllm bench serve`), under the engine's Python, against a release that answers.

<out>/<workload>.json   the client's result
<out>/<workload>.log    its full output
"""

import re
from pathlib import Path

from modelpivot.benchmark.parse import parse_bench_json, without_figures
from modelpivot.errors import CommandFailed
from modelpivot.facts.engine import engine_environ, inside_argv
from modelpivot.host import run_attached
from modelpivot.models.benchmark import Measurement
from modelpivot.models.event import Tell
from modelpivot.models.recipe import Workload
from modelpivot.models.release import Release

WARM_UPS = 2
START_DEADLINE_S = 600.0
SLOWEST_TOKENS_PER_S = 1.0
"""Per stream; a workload slower than this has missed every floor."""
SAFE = re.compile(r"[^A-Za-z0-9._-]")


def run_workload(release: Release, workload: Workload, out: Path, tell: Tell) -> Measurement:
    """The measurement; a client that fails or outlives its deadline gives one without figures that says why. Needs a release that answers."""
    result, log = (out / f"{SAFE.sub('_', workload.name)}.{kind}" for kind in ("json", "log"))
    out.mkdir(parents=True, exist_ok=True)
    result.unlink(missing_ok=True)
    tell("log", f"{workload.name}: {workload.prompts} prompts of {workload.input_tokens} tokens, {workload.concurrency} at once")
    argv = inside_argv(release.environment_dir, "bench_serve.py", bench_arguments(release, workload, result))
    try:
        with log.open("w") as file:
            run_attached(argv, timeout_s=deadline_s(workload), env=bench_environ(release), listen=lambda line: print(line, file=file))
        return parse_bench_json(result.read_text(), workload)
    except CommandFailed as error:
        return without_figures(workload, ["; ".join([error.message, *error.last_lines[-3:]])])
    except FileNotFoundError:
        return without_figures(workload, [f"the benchmark client wrote no result; its output: {log}"])


def bench_arguments(release: Release, workload: Workload, result: Path) -> list[str]:
    """Pure: the flags of `vllm bench serve`. Random prompts from a seed, answers of exactly the length asked for, greedy."""
    flags: dict[str, str | Path | int] = {
        "backend": "openai",
        "base-url": release.endpoint.base_url,
        "endpoint": "/v1/completions",
        "model": release.endpoint.served_name,
        "tokenizer": release.view_dir,
        "dataset-name": "random",
        "random-input-len": workload.input_tokens,
        "random-output-len": workload.output_tokens,
        "num-prompts": workload.prompts,
        "max-concurrency": workload.concurrency,
        "seed": workload.seed,
        "num-warmups": WARM_UPS,
        "temperature": 0,
        "result-dir": result.parent,
        "result-filename": result.name,
    }
    bare = ["--ignore-eos", "--save-result", "--save-detailed", "--disable-tqdm"]
    bare += ["--trust-remote-code"] if "--trust-remote-code" in release.start.argv else []
    return [word for name, value in flags.items() for word in (f"--{name}", str(value))] + bare


def bench_environ(release: Release) -> dict[str, str]:
    """The release's variables, no GPU (its memory belongs to the engine), and the key of the endpoint where it has one."""
    key = release.endpoint.api_key_file
    own = {"CUDA_VISIBLE_DEVICES": ""} | ({"OPENAI_API_KEY": key.read_text().strip()} if key else {})
    return engine_environ(release.start.environment | own)


def deadline_s(workload: Workload) -> float:
    """Seconds that the whole client may take: its own start, and the answers at the slowest speed that is still one."""
    rounds = -(-(workload.prompts + WARM_UPS) // workload.concurrency)
    return START_DEADLINE_S + rounds * workload.output_tokens / SLOWEST_TOKENS_PER_S
