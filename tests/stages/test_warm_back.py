"""The way back of a release that serves well and is only unwanted: the old one's start is prepared before it stops."""

import os
import signal

import pytest

from modelpivot.models.cutover import Cutover
from modelpivot.models.recipe import Deadlines, Hooks
from modelpivot.models.release import Release
from modelpivot.stages.context import Context
from modelpivot.stages.going_back import WARM_BACK_S
from modelpivot.stages.recover import recover
from modelpivot.stages.switch import follow_switch, is_closed, is_unconfirmed, start_switch
from modelpivot.state.cutovers import ask_decision
from tests.stages.test_warm import HANGS, HASTY, gated, wait_for_gate
from tests.switching import DEADLINES, SwitchHost, answers, is_gone, wait_until

SHORT = Deadlines.model_validate(DEADLINES.model_dump() | {"confirm_s": 0.5})
WAY_BACK = ["warm", "stop new", "prove free", "serve", "ready", "probe"]


def bring_up_new(host: SwitchHost, old: Release, **options: object) -> tuple[Context, Cutover, Release]:
    """A new release that serves, unconfirmed, beside nothing; `old` served before."""
    new, context = host.release("new", **options), host.context()  # type: ignore[arg-type]
    return context, follow_switch(context, start_switch(context, to=new, frm=host.serve(old)), until=is_unconfirmed), new


def steps_after_probe(closed: Cutover) -> list[str]:
    """The steps of the way back."""
    names = [step.name for step in closed.steps]
    return names[names.index("probe") + 1 :]


def assert_old_serves_alone(host: SwitchHost, closed: Cutover, old: Release, new: Release) -> None:
    assert closed.outcome == "returned", closed
    assert answers(old)
    assert len(host.engines()) == 1
    assert host.supervisor.processes(new) == []
    assert not host.state.release(old.id).gate.exists()


def test_asked_to_return(switch_host: SwitchHost) -> None:
    """The engine that came to its gate while the new one answered is the one that serves; the new one was drained before its stop."""
    context, cutover, new = bring_up_new(switch_host, old := gated(switch_host, name="old"), hooks=Hooks(drain=["sleep 0.5"]))
    ask_decision(switch_host.state, "return", reason="slower")
    waiting = wait_for_gate(switch_host, old)
    assert answers(new)
    closed = follow_switch(context, cutover, until=is_closed)
    assert_old_serves_alone(switch_host, closed, old, new)
    assert switch_host.supervisor.status(old).main == waiting
    assert (steps_after_probe(closed), closed.reason) == ([WAY_BACK[0], "drain", *WAY_BACK[1:]], "slower")


def test_nobody_confirmed(switch_host: SwitchHost) -> None:
    """The same where time runs out."""
    old, new = switch_host.serve(gated(switch_host, name="old")), switch_host.release("new", deadlines=SHORT)
    closed = switch_host.switch(old, new, confirm="asked")
    assert_old_serves_alone(switch_host, closed, old, new)
    assert steps_after_probe(closed) == WAY_BACK


@pytest.mark.parametrize("part", ["raise SystemExit(3)", HANGS], ids=["dies", "hangs"])
def test_a_gate_that_is_never_reached(switch_host: SwitchHost, part: str) -> None:
    """The old one is started plain then; the new one is stopped all the same."""
    context, cutover, new = bring_up_new(switch_host, old := gated(switch_host, name="old", deadlines=HASTY))
    (switch_host.root / "parts-old" / "part.py").write_text(part)
    ask_decision(switch_host.state, "return", reason="slower")
    closed = follow_switch(context, cutover, until=is_closed)
    assert_old_serves_alone(switch_host, closed, old, new)
    assert steps_after_probe(closed) == WAY_BACK


def test_nothing_is_prepared_once_nothing_serves(switch_host: SwitchHost) -> None:
    """The new one dies while the old one is still on its way to the gate: that is given up, and the old one started plain."""
    context, cutover, new = bring_up_new(switch_host, old := gated(switch_host, name="old"))
    (switch_host.root / "parts-old" / "part.py").write_text(HANGS)
    ask_decision(switch_host.state, "return", reason="slower")
    wait_until(lambda: switch_host.supervisor.processes(old), what="the old one on its way to the gate")
    (switch_host.root / "parts-old" / "part.py").write_text("")
    main = switch_host.supervisor.status(new).main
    assert main
    os.kill(main.pid, signal.SIGKILL)
    closed = follow_switch(context, cutover, until=is_closed)
    assert_old_serves_alone(switch_host, closed, old, new)
    assert [step.seconds < WARM_BACK_S / 2 for step in closed.steps if step.name == "warm"] == [True]


def test_a_new_release_that_fails_is_not_kept_for_it(switch_host: SwitchHost) -> None:
    """One that died makes the old one come back at once."""
    context, cutover, new = bring_up_new(switch_host, old := gated(switch_host, name="old"))
    main = switch_host.supervisor.status(new).main
    assert main
    os.kill(main.pid, signal.SIGKILL)
    closed = follow_switch(context, cutover, until=is_closed)
    assert_old_serves_alone(switch_host, closed, old, new)
    assert steps_after_probe(closed) == WAY_BACK[1:]


@pytest.mark.parametrize("part", ["", HANGS], ids=["at the gate", "importing"])
def test_switch_killed_meanwhile(switch_host: SwitchHost, part: str) -> None:
    """What waits, or hangs on its way there, is not taken for the release that serves: the recovery ends it and starts the old one plain."""
    context, cutover, new = bring_up_new(switch_host, old := gated(switch_host, name="old"), hooks=Hooks(drain=["sleep 30"]))
    (switch_host.root / "parts-old" / "part.py").write_text(part)
    ask_decision(switch_host.state, "return", reason="slower")
    waiting = wait_until(lambda: switch_host.supervisor.status(old).main, what="the old one on its way to the gate")
    if not part:
        wait_for_gate(switch_host, old)
    (switch_host.root / "parts-old" / "part.py").write_text("")
    switch_host.kill_switch(cutover)
    closed = recover(switch_host.context())
    assert closed
    assert_old_serves_alone(switch_host, closed, old, new)
    assert is_gone(waiting)
    assert context.run.id == closed.run_id
