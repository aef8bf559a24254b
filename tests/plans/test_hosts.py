"""Recorded hosts and the plans made of them: golden files that a person has read (`python -m tests.recorded` writes them anew)."""

import json
from pathlib import Path

import pytest

from modelpivot.files import read_model
from modelpivot.models.facts import Facts
from modelpivot.models.fit import Fit
from modelpivot.models.plan import Plan
from modelpivot.plans.pivot import plan_pivot
from modelpivot.recipes import read_engine, read_recipe
from tests.recorded import HOSTS, RECORDED, facts_of, plan_text

GIB = 2**30


def plan_of(name: str) -> Plan:
    """The plan of a recorded host."""
    facts = read_model(HOSTS / f"{name}.json", Facts)
    assert facts is not None and facts.configuration is not None
    recipe = read_recipe(RECORDED[name][0])
    return plan_pivot(recipe, facts.configuration, facts, read_engine(recipe.engine.name))


def codes(name: str) -> list[str]:
    """What stands in the way there."""
    return [blocker.code for blocker in plan_of(name).blockers]


def choice(plan: Plan, name: str) -> tuple[str, str]:
    """A choice's value and reason."""
    return next((one.value, one.reason) for one in plan.choices if one.name == name)


@pytest.mark.parametrize("name", RECORDED)
def test_the_command_prints_the_plan_that_was_read(name: str) -> None:
    """`plan --facts` needs neither Hub, GPU nor uv, and prints what stands beside the recording; its exit code says whether it is blocked."""
    assert plan_text(name) == (HOSTS / f"{name}.plan.txt").read_text()


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_recorded_is_what_the_shapes_give(name: str) -> None:
    """A parser that reads the same captures otherwise is noticed."""
    assert Facts.model_validate_json((HOSTS / f"{name}.json").read_text()).host.gpus == facts_of(name).host.gpus


def test_the_brief_is_planned_as_its_engineer_would_have_wished() -> None:
    """Stage first; TP 8 with the reason against 4; the KV type by rule; the longest context that then fits; NCCL; how long it takes."""
    plan = plan_of("pro6000-serving")
    assert plan.blockers == [] and plan.strategy.startswith("stage first")
    value, reason = choice(plan, "--tensor-parallel-size")
    assert value == "8" and "card advises 4" in reason and "does not fit" in reason
    assert choice(plan, "patch config.json") == ("/quantization_config/kv_cache_scheme removed", plan.decided.patches[0].why)  # type: ignore[union-attr]
    assert "fp8-kv-sm120" in choice(plan, "patch config.json")[1]
    assert isinstance(plan.fit, Fit) and plan.fit.kv_type == "bfloat16" and plan.fit.bytes_per_token == 576 * 2 * 61
    assert 131072 < int(choice(plan, "--max-model-len")[0]) <= plan.fit.longest < 262144
    assert (choice(plan, "NCCL_P2P_LEVEL")[0], choice(plan, "NCCL_PROTO")[0]) == ("SYS", "LL")
    assert {
        step.name: bool(step.estimate_s) for step in plan.steps if step.name in ("install", "fetch", "switch", "benchmark")
    } == dict.fromkeys(("install", "fetch", "switch", "benchmark"), True)
    assert any("nothing answers for about 11 min" in sentence for sentence in plan.clients)


def test_a_disk_that_cannot_hold_both_says_what_may_go() -> None:
    """It stands in the way, and no yes helps: its remedy names what costs least and is enough; the weights that serve are the last resort."""
    plan = plan_of("pro6000-disk-small")
    assert codes("pro6000-disk-small") == ["DISK_FULL"]
    remedy = plan.blockers[0].remedy
    assert "/pool/hf/hub" in remedy and "org/other" in remedy and "glm-5" not in remedy and "modelpivot reclaim" in remedy
    assert [question.id for question in plan.questions] == ["remote-code"]
    assert "no way back" in plan.room[-1].costs


def test_a_stranger_on_one_gpu_is_named_and_blocks() -> None:
    """Who it is, and that a pivot leaves it alone; a GPU that reported a grave error is a warning."""
    plan = plan_of("pro6000-stranger")
    assert codes("pro6000-stranger") == ["GPU_HELD"] and "991" in plan.blockers[0].found
    assert any("GPU 5 reported Xid 79" in warning for warning in plan.warnings)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pro6000-clean", []),
        ("pro6000-mig", ["GPU_MIG"]),
        ("h200", []),
        ("h200-measured", []),
        ("h200-measured-serving", []),
        ("no-gpu", ["GPUS_MISSING"]),
    ],
)
def test_other_states(name: str, expected: list[str]) -> None:
    """H3: counted and named."""
    assert codes(name) == expected


def test_a_number_that_is_not_told_blocks_with_its_reason() -> None:
    """H1: `[N/A]` is no zero: the plan that needs it is blocked, and the fit says what keeps it from being known."""
    plan = plan_of("gb10")
    assert set(codes("gb10")) == {"GPU_MEMORY_UNREAD"} and all("[N/A]" in blocker.found for blocker in plan.blockers)
    assert "[N/A]" in str(plan.fit)


@pytest.mark.parametrize("name", ["h200-measured", "h200-measured-serving"])
def test_a_real_host_is_planned_as_its_engine_then_found_it(name: str) -> None:
    """Read idle or beside the engine that serves, the pool is within 1 GiB of what vLLM printed on that machine (114.11 GiB), and not above it."""
    fit = plan_of(name).fit
    assert isinstance(fit, Fit) and fit.bytes_per_token == 147_456
    assert 0 <= 114.11 * GIB - fit.pool_bytes < GIB


def test_every_size_is_said_in_both_units() -> None:
    """W10: GB and GiB stand together wherever a person reads a size."""
    text = " ".join((HOSTS / "pro6000-serving.plan.txt").read_text().split())
    assert "590.8 GB (550.2 GiB)" in text
    assert text.count(" GB (") == text.count(" GiB)")


def test_the_plan_as_json_is_one_object(tmp_path: Path) -> None:
    """`--json` gives the plan itself, fit and rules with it."""
    text = plan_text("pro6000-serving", "--json").partition("\nexit code")[0]
    plan = json.loads(text)
    assert plan["fit"]["parallel"]["tensor"] == 8 and plan["rules"][0]["id"] == "fp8-kv-sm120"


def test_planned_again_from_what_was_decided_it_is_the_same_release() -> None:
    """What rules and fit decided is pinned: a fact that is read otherwise right before the switch makes no other release."""
    from modelpivot.plans.release import pin_recipe

    facts = read_model(HOSTS / "pro6000-serving.json", Facts)
    assert facts is not None and facts.configuration is not None
    plan = plan_of("pro6000-serving")
    blind = facts.model_copy(update={"host": facts.host.model_copy(update={"links": []})})
    again = plan_pivot(pin_recipe(plan.recipe, plan), facts.configuration, blind, read_engine("vllm"))
    assert plan.candidate and again.candidate and again.candidate.id == plan.candidate.id
