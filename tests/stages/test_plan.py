"""The plan as a stage: written to the run, and a wall in front of everything that changes the host."""

import json

import pytest

from modelpivot.demo.ports import free_port
from modelpivot.errors import PreconditionError
from modelpivot.files import read_model
from modelpivot.models.engine import Resolution
from modelpivot.models.frozen import Unread
from modelpivot.models.plan import Plan
from modelpivot.plans.release import pin_recipe
from modelpivot.stages.plan import make_plan, require_clear, require_nothing_new, say_plan
from modelpivot.stages.preflight import preflight
from tests.plans.samples import brief_plan
from tests.stages.deciding import PATCH, Desk


def test_the_plan_in_force_lies_in_the_runs_folder(desk: Desk) -> None:
    """What a process of the run reads back is the very plan."""
    plan = desk.plan()
    assert read_model(desk.context.run.plan, Plan) == plan
    assert [step.name for step in plan.steps] == ["install", "fetch", "view", "check", "switch", "promote"]


def test_what_is_done_is_not_planned_again(desk: Desk) -> None:
    """After the weights came in, the plan holds what is missing and nothing else; the candidate is the same."""
    before = desk.fetched()
    after = desk.plan()
    assert not after.needs("fetch")
    assert after.needs("install")
    assert after.candidate == before.candidate


def test_planning_needs_no_second_look_when_facts_are_given(desk: Desk) -> None:
    """Preflight runs once in a flow that hands its facts on."""
    recipe = desk.recipe()
    make_plan(desk.context, recipe, preflight(desk.context, recipe))
    assert desk.words("preflight") == ["started", "finished"]


def test_a_plan_without_blocker_and_question_is_clear() -> None:
    """Nothing is raised, agreed or not."""
    plan = brief_plan().model_copy(update={"questions": []})
    require_clear(plan, is_agreed=False)


def test_a_plan_says_what_it_asks() -> None:
    """In its one line, for those who only look; without questions there is nothing of it."""
    plan = brief_plan()
    assert all(question.text in say_plan(plan) for question in plan.questions) and plan.questions
    assert "asks first" not in say_plan(plan.model_copy(update={"questions": []}))


def test_every_blocker_is_named_with_its_remedy_and_exit_code_3() -> None:
    """One error holds them all; nothing was touched."""
    plan = brief_plan(gpus=Unread(unread="broken"), tools={"uv": Unread(unread="gone")})
    with pytest.raises(PreconditionError) as caught:
        require_clear(plan, is_agreed=True)
    message = str(caught.value)
    assert caught.value.exit_code == 3
    for blocker in plan.blockers:
        assert blocker.code in message
        assert blocker.remedy in message
    assert "nothing was touched" in message


def test_an_unanswered_question_stops_and_a_yes_goes_on() -> None:
    """The text of the question and how to say yes stand in the error."""
    plan = brief_plan()
    with pytest.raises(PreconditionError, match="remote-code") as caught:
        require_clear(plan, is_agreed=False)
    assert "--yes" in caught.value.hint
    require_clear(plan, is_agreed=True)


def test_right_before_the_switch_only_new_blockers_stop() -> None:
    """What stood there when the run began was known; what came since stops."""
    before, after = brief_plan(), brief_plan(gpus=Unread(unread="broken"))
    with pytest.raises(PreconditionError, match="GPUS_UNREAD"):
        require_nothing_new(before, after)
    require_nothing_new(after, after)


def test_a_hub_that_is_down_blocks_with_a_remedy(desk: Desk) -> None:
    """An unread fact and no error, everything else read all the same; then exit 3 with the Hub's address in the words."""
    desk.world.hub.stop()
    recipe = desk.recipe()
    facts = preflight(desk.context, recipe)
    assert isinstance(facts.model.manifest, Unread)
    assert isinstance(facts.engine.resolution, Resolution)
    assert "warning" in desk.words("preflight")
    with pytest.raises(PreconditionError, match="HUB_UNREACHABLE") as caught:
        require_clear(make_plan(desk.context, recipe, facts), is_agreed=True)
    assert desk.world.host.hub_endpoint in str(caught.value)


def test_a_gated_repository_names_the_gate(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Hub that asks for a token says so; the plan says what to do."""
    desk.world.hub.gates["acme/new"] = "hf_right"
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    [blocker] = desk.plan().blockers
    assert blocker.code in ("HUB_GATED", "HUB_UNAUTHORIZED")
    assert "token" in blocker.remedy


def test_a_port_in_use_is_told_with_its_process(desk: Desk) -> None:
    """This very test holds it."""
    import os
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", desk.world.port))
        server.listen()
        [blocker] = desk.plan().blockers
        assert free_port(desk.world.port) != desk.world.port
    assert blocker.code == "PORT_IN_USE"
    assert f"process {os.getpid()}" in blocker.found


def test_a_wrong_patch_is_known_before_a_byte_is_fetched(desk: Desk) -> None:
    """The config is read from the Hub at the very commit; the expected value must stand there."""
    recipe = desk.recipe(patches=[PATCH])
    assert [blocker.code for blocker in desk.plan(recipe).blockers] == ["PATCH_EXPECTS_OTHER"]
    desk.quantize()
    assert desk.plan(recipe).blockers == []
    assert not desk.world.host.weights_root.exists()


def test_the_plan_is_told_with_its_steps(desk: Desk) -> None:
    """The event that a screen shows names candidate, steps and blockers as plain JSON."""
    plan = desk.plan()
    assert plan.candidate
    event = next(event for event in desk.told if event.stage == "plan" and event.kind == "finished")
    assert plan.candidate.id in event.message
    assert json.loads(event.model_dump_json())["data"]["steps"] == [step.name for step in plan.steps]


def test_planned_again_at_its_commit_nothing_moves_and_no_hub_is_needed(desk: Desk) -> None:
    """D10: the branch moves and then the Hub goes away while the weights lie there; the candidate stays the one that was staged."""
    before = desk.fetched()
    (desk.world.root / "hub" / "acme" / "new" / "config.json").write_text('{"model_type": "moved"}')
    moved = desk.plan()
    assert moved.candidate != before.candidate
    desk.world.hub.stop()
    again = desk.plan(pin_recipe(before.recipe, before))
    assert again.blockers == []
    assert again.candidate == before.candidate
