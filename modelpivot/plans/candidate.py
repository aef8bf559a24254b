"""Whether the target environment's engine will take a release, judged from what it answered. Pure."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise

from pydantic import JsonValue

from modelpivot.models.benchmark import Check
from modelpivot.models.engine import EngineAnswers
from modelpivot.models.recipe import Patch

PARSER_FLAGS = {"--tool-call-parser": "tool_parsers", "--reasoning-parser": "reasoning_parsers"}
KV_KEYS = ("/kv_cache_scheme", "/kv_cache_quant_algo")
ACCEPTED = "engine accepts the release"


def judge_candidate(
    config: Mapping[str, JsonValue],
    argv: Sequence[str],
    answers: EngineAnswers,
    accepted: Mapping[str, JsonValue] | None,
    patches: Sequence[Patch] = (),
) -> list[Check]:
    """Every check; what the engine could not be asked has none. `accepted` is the answer of `inside/accepts.py`, None: not asked."""
    checks = [*_judge_parsers(argv, answers), *_judge_quantization(config, answers)]
    if accepted is None or "unasked" in accepted:
        return [*_judge_architecture(config, answers), *checks]
    return [_judge_accepted(accepted), *_judge_cache(argv, accepted, patches), *checks]


def flag_value(argv: Sequence[str], flag: str) -> str | None:
    """The value of a flag on a command line (`--flag value` or `--flag=value`); the last one counts, None: not there."""
    values = [word.partition("=")[2] for word in argv if word.startswith(f"{flag}=")]
    values += [value for word, value in pairwise(argv) if word == flag]
    return values[-1] if values else None


def quantization_method(config: Mapping[str, JsonValue]) -> str | None:
    """`quant_method` of config.json, at the top or in text_config; None: it names none."""
    for holder in (config, config.get("text_config")):
        block = holder.get("quantization_config") if isinstance(holder, Mapping) else None
        if isinstance(block, Mapping) and isinstance(method := block.get("quant_method"), str):
            return method
    return None


def _judge_accepted(accepted: Mapping[str, JsonValue]) -> Check:
    refused = accepted.get("refused")
    if refused is not None:
        return Check(name=ACCEPTED, passed=False, expected="flags and config.json that its own code reads", found=str(refused))
    said = ", ".join(f"{name} {value}" for name, value in accepted.items() if value is not None)
    return Check(name=ACCEPTED, passed=True, expected="flags and config.json that its own code reads", found=said)


def _judge_cache(argv: Sequence[str], accepted: Mapping[str, JsonValue], patches: Sequence[Patch]) -> list[Check]:
    """Where patches took the KV cache's type away: that the engine's own code finds none any more, in no other file either."""
    is_patched = any(patch.pointer.endswith(KV_KEYS) and (patch.remove or patch.new is None) for patch in patches)
    found = accepted.get("kv_cache_dtype")
    if not is_patched or found is None or flag_value(argv, "--kv-cache-dtype") not in (None, "auto"):
        return []
    return [Check(name="KV cache type", passed=found == "auto", expected="auto, the model's own type, after the patch", found=str(found))]


def _judge_architecture(config: Mapping[str, JsonValue], answers: EngineAnswers) -> list[Check]:
    if answers.architectures is None:
        return []
    named = config.get("architectures")
    wanted = [str(name) for name in named] if isinstance(named, list) else []
    is_known = any(name in answers.architectures for name in wanted)
    found = "known" if is_known else f"unknown to {answers.version}"
    return [Check(name="architecture", passed=is_known, expected=" or ".join(wanted) or "architectures in config.json", found=found)]


def _judge_parsers(argv: Sequence[str], answers: EngineAnswers) -> list[Check]:
    known = {"tool_parsers": answers.tool_parsers, "reasoning_parsers": answers.reasoning_parsers}
    asked = [(flag, value, known[kind]) for flag, kind in PARSER_FLAGS.items() if (value := flag_value(argv, flag)) is not None]
    return [_judge_name(flag.removeprefix("--"), value, names, answers) for flag, value, names in asked if names is not None]


def _judge_quantization(config: Mapping[str, JsonValue], answers: EngineAnswers) -> list[Check]:
    method = quantization_method(config)
    if method is None or answers.quantizations is None:
        return []
    return [_judge_name("quantization method", method, answers.quantizations, answers)]


def _judge_name(what: str, value: str, known: Sequence[str], answers: EngineAnswers) -> Check:
    near = ", ".join(get_close_matches(value, known, n=3)) or "nothing like it"
    found = "known" if value in known else f"unknown to {answers.version}, which knows {near} (of {len(known)})"
    return Check(name=what, passed=value in known, expected=value, found=found)
