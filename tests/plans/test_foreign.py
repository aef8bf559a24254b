"""A service that was not made by us serves: the plan says so, and how to take it over."""

from typing import Any

from modelpivot.models.facts import GpuProcess, Gpus, Listener
from modelpivot.plans.pivot import plan_pivot
from modelpivot.recipes import read_recipe
from modelpivot.stages.preflight import say_facts
from tests.plans.samples import CPU, HOST, brief_facts, brief_plan, gpus, small_facts

UNIT = "vllm-glm5.service"
LISTENER = Listener(port=8000, address="0.0.0.0", pid=4099, command="python patched.py serve", unit=UNIT)
NOTHING_OF_OURS: dict[str, Any] = {"current": None, "current_answers": False, "own_pids": []}


def held(unit: str = UNIT) -> Gpus:
    """The brief's eight cards, each held by a process of the unit."""
    cards = gpus()
    return cards.model_copy(update={"processes": [it.model_copy(update={"unit": unit}) for it in cards.processes]})


def test_the_brief_on_its_first_day_names_the_unit_and_the_command() -> None:
    """The old unit holds every card and the port: one blocker with the command that adopts it, and none beside it for the same processes."""
    plan = brief_plan(listeners=[LISTENER], gpus=held(), **NOTHING_OF_OURS)
    [blocker] = plan.blockers
    assert (blocker.code, plan.from_release) == ("FOREIGN_ENGINE", None)
    assert f"modelpivot adopt {UNIT}" in blocker.remedy
    assert "port 8000 and 8 GPUs" in blocker.found


def test_cards_alone_are_enough() -> None:
    """It answers on another port: the cards are in the way."""
    plan = brief_plan(listeners=[], gpus=held("glm.service"), **NOTHING_OF_OURS)
    assert [blocker.code for blocker in plan.blockers] == ["FOREIGN_ENGINE"]


def test_preflight_says_who_serves() -> None:
    """The line for a person has the unit's name."""
    facts = brief_facts(listeners=[LISTENER], gpus=held(), **NOTHING_OF_OURS)
    assert f"{UNIT}, not made by modelpivot, serves" in say_facts(facts)


def test_a_web_server_on_the_port_is_no_engine() -> None:
    """What holds the port and is no engine is not to be adopted."""
    recipe = read_recipe("demo")
    listener = Listener(port=recipe.serve.port, address="0.0.0.0", pid=7, command="nginx: master process", unit="nginx.service")
    plan = plan_pivot(recipe, HOST, small_facts(recipe, listeners=[listener]), CPU)
    assert [blocker.code for blocker in plan.blockers] == ["PORT_IN_USE"]


def test_beside_a_current_release_it_is_a_stranger() -> None:
    """A host has one current release; another engine on its cards stays in the way."""
    stranger = GpuProcess(gpu_uuid="GPU-0", pid=7, name="python", used_bytes=5 * 2**30, unit=UNIT)
    cards = gpus()
    plan = brief_plan(gpus=cards.model_copy(update={"processes": [*cards.processes, stranger]}))
    assert [blocker.code for blocker in plan.blockers] == ["GPU_HELD"]


def test_one_that_is_not_in_the_way_is_left_alone() -> None:
    """Another port and no cards asked for: nothing blocks."""
    recipe = read_recipe("demo")
    plan = plan_pivot(recipe, HOST, small_facts(recipe, listeners=[LISTENER.model_copy(update={"port": 9999})]), CPU)
    assert "FOREIGN_ENGINE" not in [blocker.code for blocker in plan.blockers]
