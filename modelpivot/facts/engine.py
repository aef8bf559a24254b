"""Asking an installed engine: scripts of `inside/`, run by the engine's own Python, which answer with one JSON object on their last line."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from modelpivot.errors import CommandFailed
from modelpivot.facts.environments import environment_python
from modelpivot.facts.uv import OWN_ENVIRONMENT
from modelpivot.host import run_attached
from modelpivot.models.engine import Engine, EngineAnswers
from modelpivot.models.json_text import read_json

INSIDE = Path(__file__).resolve().parents[1] / "inside"
ASK_DEADLINE_S = 600.0
"""A first import of a CUDA engine from a slow disk takes minutes."""

BESIDE_LIVE = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""torch then counts GPUs through NVML: a CUDA context would take memory beside the engine that serves."""


def engine_environ(variables: Mapping[str, str]) -> dict[str, str]:
    """Our variables without those that speak of our own Python, and the engine's over them."""
    return {name: value for name, value in os.environ.items() if name not in OWN_ENVIRONMENT} | dict(variables)


def inside_argv(environment: Path, script: str, arguments: Sequence[str | Path]) -> list[str | Path]:
    """The command line of a script of `inside/`; `-I` keeps our folders and variables away from the engine's imports."""
    return [environment_python(environment), "-I", INSIDE / script, *arguments]


def ask_inside(environment: Path, script: str, arguments: Sequence[str | Path], variables: Mapping[str, str]) -> dict[str, JsonValue]:
    """What a script answers. CommandFailed with the engine's own last lines when it does not."""
    lines: list[str] = []
    argv = inside_argv(environment, script, arguments)
    run_attached(argv, timeout_s=ASK_DEADLINE_S, env=engine_environ(variables), listen=lines.append)
    return parse_answer(lines)


def parse_answer(lines: Sequence[str]) -> dict[str, JsonValue]:
    """The last line that is a JSON object; engines say other things before and after it. CommandFailed when there is none."""
    for line in reversed(lines):
        if line.startswith("{"):
            try:
                return TypeAdapter(dict[str, JsonValue]).validate_python(read_json(line))
            except ValueError:
                continue
    raise CommandFailed("the engine's Python gave no answer", last_lines=tuple(lines[-20:]))


def ask_engine(environment: Path, engine: Engine) -> EngineAnswers:
    """Import the engine with its compiled parts and ask what it knows (10 to 20 s for vLLM). CommandFailed when it does not import."""
    variables = {**engine.serve_env, **BESIDE_LIVE, **({"CUDA_VISIBLE_DEVICES": ""} if engine.device == "cuda" else {})}
    return EngineAnswers.model_validate(ask_inside(environment, "engine_facts.py", [engine.module, engine.distribution], variables))
