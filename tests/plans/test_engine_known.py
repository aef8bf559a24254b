"""What the target engine and the driver say to a plan before anything is touched: names that it does not know, a CUDA that the driver has not."""

from typing import Any

import pytest

from modelpivot.models.engine import EngineAnswers
from modelpivot.models.facts import Facts, Gpus
from modelpivot.models.plan import Plan
from modelpivot.plans.pivot import plan_pivot
from modelpivot.recipes import read_engine, read_recipe
from tests.recorded import PRO6000, facts_of

KNOWN = EngineAnswers(
    version="0.26.0",
    architectures=["KimiK25ForConditionalGeneration"],
    tool_parsers=["kimi_k2", "hermes"],
    reasoning_parsers=["kimi_k2"],
    quantizations=["modelopt", "fp8"],
)


def plan(change: dict[str, Any] | None = None, *, answers: EngineAnswers | None = KNOWN, cuda: str = "13.1") -> Plan:
    """The brief's pivot with an engine that is installed already, on a driver of this CUDA."""
    facts = facts_of("pro6000-clean")
    assert isinstance(facts.host.gpus, Gpus)
    cards = [gpu.model_copy(update={"cuda": cuda, "driver": "590.48.01" if cuda >= "13" else "550.90.07"}) for gpu in facts.host.gpus.gpus]
    host = facts.host.model_copy(update={"gpus": facts.host.gpus.model_copy(update={"gpus": cards})})
    engine = facts.engine.model_copy(update={"answers": answers, "environment_proved": answers is not None})
    given: Facts = facts.model_copy(update={"host": host, "engine": engine})
    recipe = read_recipe("kimi-k2.5-nvfp4")
    serve = recipe.serve.model_copy(update={"args": {**recipe.serve.args, **(change or {})}})
    return plan_pivot(recipe.model_copy(update={"serve": serve}), PRO6000, given, read_engine("vllm"))


def test_names_that_the_engine_knows_pass() -> None:
    """Parsers, architecture and method of the candidate are in its lists."""
    assert plan().blockers == []


@pytest.mark.parametrize("flag", ["tool-call-parser", "reasoning-parser"])
def test_a_parser_that_the_engine_does_not_know_blocks(flag: str) -> None:
    """E11: asked of the target environment before anything is stopped, with the names that are near."""
    [blocker] = plan({flag: "kimi_k3"}).blockers
    assert (blocker.code, blocker.what) == ("ENGINE_UNKNOWN_NAME", flag) and "kimi_k2" in blocker.found


def test_an_architecture_that_the_engine_does_not_know_blocks() -> None:
    """An engine that is too old for the model."""
    [blocker] = plan(answers=KNOWN.model_copy(update={"architectures": ["LlamaForCausalLM"]})).blockers
    assert blocker.what == "architecture" and "KimiK25" in blocker.expected


def test_an_engine_that_is_not_installed_yet_is_asked_later() -> None:
    """Nothing is known of it now: check engine asks before the switch."""
    assert plan({"tool-call-parser": "kimi_k3"}, answers=None).blockers == []


def test_a_wheel_for_another_cuda_than_the_driver_offers_blocks() -> None:
    """E4: built for CUDA 13, a driver for 12.4: said before the switch, with both versions."""
    made = plan(cuda="12.4")
    told = [f"{blocker.expected} {blocker.found}" for blocker in made.blockers]
    assert any("13.0" in line and "12.4" in line for line in told), made.blockers
