"""Whether the engine takes a release, from what it answered."""

import pytest
from pydantic import JsonValue

from modelpivot.models.engine import EngineAnswers
from modelpivot.models.recipe import Patch
from modelpivot.plans.candidate import flag_value, judge_candidate, quantization_method

ANSWERS = EngineAnswers(
    version="0.32.0",
    architectures=["DeepseekV3ForCausalLM"],
    tool_parsers=["kimi_k2", "hermes"],
    reasoning_parsers=["kimi_k2"],
    quantizations=["modelopt", "compressed-tensors"],
)
CONFIG: dict[str, JsonValue] = {"architectures": ["DeepseekV3ForCausalLM"], "quantization_config": {"quant_method": "modelopt"}}
ARGV = ["python", "-m", "vllm", "--tool-call-parser", "kimi_k2", "--reasoning-parser=kimi_k2"]
TAKEN: dict[str, JsonValue] = {"architecture": "DeepseekV3ForCausalLM", "quantization": None}


def failed(config: dict[str, JsonValue] = CONFIG, argv: list[str] = ARGV, accepted: dict[str, JsonValue] | None = TAKEN) -> dict[str, str]:
    """Checks that failed, with what was found."""
    return {check.name: check.found for check in judge_candidate(config, argv, ANSWERS, accepted) if not check.passed}


def test_a_release_that_the_engine_knows_passes_every_check() -> None:
    """Accepted, both parsers, quantization: four checks."""
    checks = judge_candidate(CONFIG, ARGV, ANSWERS, TAKEN)
    assert [check.name for check in checks] == ["engine accepts the release", "tool-call-parser", "reasoning-parser", "quantization method"]
    assert all(check.passed for check in checks)


def test_a_parser_name_with_a_typing_error_is_found_with_its_neighbours() -> None:
    """E11: unknown to this version, and what is near."""
    assert failed(argv=[*ARGV, "--tool-call-parser", "kimi_k9"]) == {"tool-call-parser": "unknown to 0.32.0, which knows kimi_k2 (of 2)"}


def test_an_unknown_quantization_method_fails() -> None:
    """Named in config.json, not in the engine."""
    config: dict[str, JsonValue] = {**CONFIG, "text_config": {}, "quantization_config": {"quant_method": "bitsandbobs"}}
    assert list(failed(config)) == ["quantization method"]


def test_the_engines_own_refusal_is_kept() -> None:
    """What it says no with is what was found."""
    assert failed(accepted={"refused": "unrecognized arguments: --x"}) == {"engine accepts the release": "unrecognized arguments: --x"}


def test_all_failures_are_told_at_once() -> None:
    """Three things wrong, three checks."""
    config: dict[str, JsonValue] = {"quantization_config": {"quant_method": "none such"}}
    assert len(failed(config, ["--reasoning-parser", "none such"], {"refused": "no"})) == 3


def test_an_architecture_is_looked_up_where_the_engine_gave_no_verdict() -> None:
    """Not asked, or a version that keeps these things elsewhere: its list of architectures decides."""
    unknown: dict[str, JsonValue] = {"architectures": ["KimiK25ForConditionalGeneration"]}
    for accepted in (None, {"unasked": "moved"}):
        assert failed(unknown, [], accepted) == {"architecture": "unknown to 0.32.0"}  # type: ignore[arg-type]
        assert failed(CONFIG, [], accepted) == {}  # type: ignore[arg-type]


def test_what_an_engine_has_no_list_of_is_not_judged() -> None:
    """An engine that is not vLLM: no check, so none that passes by itself."""
    assert judge_candidate(CONFIG, ARGV, EngineAnswers(version="1"), None) == []


def test_flags_are_read_in_both_spellings() -> None:
    """`--a b` and `--a=b`; a flag that is not there has no value."""
    assert (flag_value(["--a", "b"], "--a"), flag_value(["--a=b"], "--a"), flag_value(["--ab", "c"], "--a")) == ("b", "b", None)


def test_the_method_may_stand_in_text_config() -> None:
    """Multimodal models nest the block; none anywhere is None."""
    nested: dict[str, JsonValue] = {"text_config": {"quantization_config": {"quant_method": "fp8"}}}
    assert (quantization_method(nested), quantization_method({}), quantization_method(CONFIG)) == ("fp8", None, "modelopt")


@pytest.mark.parametrize(
    ("cache", "argv", "is_patched", "is_failed"),
    [
        ("auto", ARGV, True, False),
        ("fp8_e4m3", ARGV, True, True),
        ("fp8", [*ARGV, "--kv-cache-dtype", "auto"], True, True),
        ("fp8_e4m3", [*ARGV, "--kv-cache-dtype", "fp8"], True, False),
        ("fp8_e4m3", ARGV, False, False),
    ],
)
def test_a_patch_that_did_not_reach_the_engine_fails(cache: str, argv: list[str], is_patched: bool, is_failed: bool) -> None:
    """E6: the engine's own code still finds an FP8 cache somewhere; a flag that asks for it, or no patch, is another matter."""
    patches = [Patch(pointer="/quantization_config/kv_cache_scheme", remove=True, why="test")] if is_patched else []
    checks = judge_candidate(CONFIG, argv, ANSWERS, {**TAKEN, "kv_cache_dtype": cache}, patches)
    assert [check.found for check in checks if not check.passed] == ([cache] if is_failed else [])
