"""A first recipe: from config, card, rules and host; every value has its reason, and what depends on the host is left to the plan."""

from typing import Any

import pytest
import yaml

from modelpivot.facts.model_config import parse_model_config
from modelpivot.models.facts import HostFacts, ModelCard, ModelFacts
from modelpivot.models.recipe import Recipe, Source
from modelpivot.plans.first_recipe import First, first_recipe
from modelpivot.plans.pivot import plan_pivot
from modelpivot.plans.recipe_text import recipe_text
from modelpivot.recipes import read_engine
from tests.recorded import COMMIT, PRO6000, engine, facts_of, kimi, pro6000, qwen, small


def first(model: ModelFacts, host: HostFacts, *, engine_name: str = "vllm", **options: Any) -> First:
    """The recipe for a recorded model on a recorded host."""
    manifest = model.manifest
    repo = "" if not hasattr(manifest, "repo") else manifest.repo
    return first_recipe(Source(repo=repo), model, host, read_engine(engine_name), **options)


def test_the_briefs_model_on_the_briefs_host() -> None:
    """All eight cards since the whole context fits on none, parsers by family, the encoder by rule; code is off until a person allows it."""
    found = first(kimi(), pro6000())
    args = found.recipe.serve.args
    assert (found.recipe.name, found.recipe.serve.gpus, args["tensor-parallel-size"]) == ("kimi-k2.5-nvfp4", 8, 8)
    assert (args["tool-call-parser"], args["reasoning-parser"], args["mm-encoder-tp-mode"]) == ("kimi_k2", "kimi_k2", "data")
    assert args["trust-remote-code"] is False and found.recipe.model.revision == COMMIT
    assert "card advises 4" in found.reasons["serve.gpus"] and "pinned" in found.reasons["model.revision"]
    assert "kv-cache-dtype" not in args and "max-model-len" not in args and found.recipe.serve.env == {}


def test_the_cards_own_example_goes_before_the_family() -> None:
    """Flags that the model's card serves with."""
    card = ModelCard(flags=["--tool-call-parser", "own", "--trust-remote-code"])
    found = first(kimi().model_copy(update={"card": card}), pro6000())
    assert (found.recipe.serve.args["tool-call-parser"], found.recipe.serve.args["trust-remote-code"]) == ("own", True)


def test_the_fewest_cards_that_hold_the_whole_context() -> None:
    """A small model takes one of eight."""
    assert first(qwen(), pro6000()).recipe.serve.gpus == 1


def test_without_a_card_here_the_size_decides() -> None:
    """On a machine without GPUs: by the model's card, else by weights."""
    assert first(kimi(), small(None)).recipe.serve.gpus == 4
    assert first(kimi().model_copy(update={"card": ModelCard()}), small(None)).recipe.serve.gpus == 8
    assert first(qwen(), small(None), gpus=2).recipe.serve.args["tensor-parallel-size"] == 2


def test_a_cpu_engine_asks_no_gpu() -> None:
    """For the demo's engine."""
    found = first(qwen(), small(None), engine_name="vllm-cpu")
    assert (found.recipe.serve.gpus, found.recipe.serve.args["enforce-eager"]) == (0, True)


@pytest.mark.parametrize("model", [kimi, qwen])
def test_the_text_is_the_recipe_with_reasons(model: Any) -> None:
    """Read back it is the same recipe, and flags carry their reasons on their lines."""
    found = first(model(), pro6000())
    text = recipe_text(found.recipe, found.reasons, head=["one", "two"])
    assert Recipe.model_validate(yaml.safe_load(text)) == found.recipe
    assert text.startswith("# one\n# two\nname: ")
    assert all(
        f"{name}:" in line and " # " in line for name in found.recipe.serve.args for line in text.splitlines() if f"    {name}:" in line
    )


def test_it_plans_at_once() -> None:
    """The first recipe of the brief's model has no blocker on the brief's host."""
    facts = facts_of("pro6000-clean").model_copy(update={"engine": engine()})
    plan = plan_pivot(first(kimi(), pro6000()).recipe, PRO6000, facts, read_engine("vllm"))
    assert plan.blockers == [] and plan.candidate


def test_a_model_that_says_nothing_still_gives_a_recipe() -> None:
    """GGUF has no config.json: name, repository and GPUs remain."""
    silent = qwen().model_copy(update={"summary": parse_model_config({}), "card": ModelCard()})
    assert first(silent, small(None)).recipe.serve.served_name == "qwen3-8b"
