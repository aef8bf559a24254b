"""The open switch on disk, the decision asked of it, and who follows it."""

import pytest

from modelpivot.errors import HostHeld, PreconditionError
from modelpivot.models.cutover import Cutover, Outcome
from modelpivot.models.recipe import Deadlines
from modelpivot.state.cutovers import (
    ask_decision,
    attach_run,
    close_cutover,
    read_cutover,
    read_cutover_of_run,
    read_decision,
    write_cutover,
    write_intent,
)
from modelpivot.state.paths import StatePaths


def _cutover(name: str = "one", run_id: str = "run", outcome: Outcome | None = None) -> Cutover:
    return Cutover(
        id=name,
        run_id=run_id,
        from_release="old",
        to_release="new",
        deadlines=Deadlines(),
        lock_token="t",
        created_at=1.0,
        outcome=outcome,
    )


def test_one_switch_at_a_time(state: StatePaths) -> None:
    """A second intent is refused while one is open; the same one may be written again."""
    write_intent(state, _cutover())
    write_intent(state, _cutover())
    with pytest.raises(HostHeld, match="from old to new is open"):
        write_intent(state, _cutover("two"))


def test_closed_switch_lies_with_its_run(state: StatePaths) -> None:
    """Closing moves the switch to its run; none is open afterwards, and a new one may begin."""
    write_intent(state, _cutover())
    write_cutover(state, _cutover(outcome="promoted"))
    close_cutover(state, _cutover(outcome="promoted"))
    assert read_cutover(state) is None
    closed = read_cutover_of_run(state, "run")
    assert closed is not None
    assert closed.outcome == "promoted"
    write_intent(state, _cutover("two"))


def test_decision_belongs_to_its_switch(state: StatePaths) -> None:
    """A decision counts for the switch it was asked of, never for a later one."""
    write_intent(state, _cutover())
    ask_decision(state, "promote", reason="good")
    decision = read_decision(state, "one")
    assert decision is not None
    assert (decision.decision, decision.reason) == ("promote", "good")
    assert read_decision(state, "two") is None


def test_new_intent_starts_without_a_decision(state: StatePaths) -> None:
    """A decision that was left over is gone when an intent is written."""
    write_intent(state, _cutover())
    ask_decision(state, "return", reason="bad")
    write_intent(state, _cutover())
    assert read_decision(state, "one") is None


def test_nothing_to_decide(state: StatePaths) -> None:
    """Without an open switch nothing can be asked."""
    with pytest.raises(PreconditionError, match="no switch is open"):
        ask_decision(state, "promote", reason="")


def test_own_run_may_attach_again(state: StatePaths) -> None:
    """The process that follows a switch may say so again."""
    attach_run(state, "run")
    attach_run(state, "run")
    assert state.attached.exists()
