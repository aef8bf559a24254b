"""What a form changes of a recipe for one run: what was filled in, and nothing else."""

import pytest
from pydantic import ValidationError

from modelpivot.models.overrides import Overrides
from modelpivot.models.plan import Choice, Plan
from modelpivot.plans.markdown import plan_markdown
from modelpivot.plans.overrides import CHOICES, override, say_overrides, tell_overrides
from modelpivot.recipes import read_recipe


def test_an_empty_form_changes_nothing() -> None:
    """The recipe itself, and nothing to say."""
    recipe = read_recipe("kimi-k2.5-nvfp4")
    assert override(recipe, Overrides()) == recipe and say_overrides(Overrides()) == []


def test_every_field_reaches_its_place_in_the_recipe() -> None:
    """Flags, port, engine, revision, deadline, consent and benchmark; other flags stay, and GPUs follow the division."""
    recipe = read_recipe("kimi-k2.5-nvfp4")
    overrides = Overrides(
        max_model_len=4096,
        tensor_parallel_size=4,
        gpu_memory_utilization=0.8,
        port=8123,
        engine_version="9.9",
        revision="dev",
        unconfirmed="keep",
        confirm_minutes=30,
        skip_benchmark=True,
        consents=["untested-engine"],
    )
    made = override(recipe, overrides)
    flags = {"max-model-len": 4096, "tensor-parallel-size": 4, "gpu-memory-utilization": 0.8}
    assert made.serve.args == {**recipe.serve.args, **flags} and (made.serve.port, made.serve.gpus) == (8123, 4)
    assert (made.engine.version, made.model.revision, made.unconfirmed) == ("9.9", "dev", "keep")
    assert (made.deadlines.confirm_s, made.workloads, made.floors) == (1800, [], [])
    assert made.consents == [*recipe.consents, "untested-engine"]
    assert "Context length: 4096" in say_overrides(overrides) and "Skip the benchmark: yes" in say_overrides(overrides)


def test_a_plan_says_what_this_run_set() -> None:
    """Every value that was filled in stands in the artifact, what is no choice too; a choice that follows from one does not blame the recipe."""
    choices = [
        Choice(name="--max-model-len", value="4096", reason="the recipe sets it"),
        Choice(name="--seed", value="0", reason="the recipe sets it"),
        Choice(name="commit", value="a" * 40, reason="dev of acme/new stands there now"),
    ]
    plan = Plan(recipe=read_recipe("demo"), from_release=None, candidate=None, manifest=None, resolution=None, choices=choices)
    overrides = Overrides(max_model_len=4096, revision="dev", skip_benchmark=True, consents=["untested-engine"])
    told = tell_overrides(plan, overrides)
    assert [one.reason for one in told.choices] == ["this run sets it", "the recipe sets it", choices[2].reason]
    text = plan_markdown(told)
    for line in ("Context length: 4096", "Revision of the model: dev", "Skip the benchmark: yes", "Consents: untested-engine"):
        assert f"- {line}\n" in text
    assert tell_overrides(plan, Overrides()) == plan


def test_every_named_choice_is_a_field() -> None:
    """A field that is renamed takes its choice with it."""
    assert set(CHOICES) <= set(Overrides.model_fields)


@pytest.mark.parametrize(("field", "value"), [("max_model_len", 3), ("port", 70000), ("engine_version", "1; rm"), ("revision", "-x")])
def test_a_value_that_cannot_be_is_refused_by_its_name(field: str, value: object) -> None:
    """The same limits as in the form, wherever the value comes from."""
    with pytest.raises(ValidationError) as caught:
        Overrides.model_validate({field: value})
    assert caught.value.errors()[0]["loc"] == (field,)
