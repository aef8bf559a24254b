"""State files that somebody spoiled while a switch is open: the host still ends with one proved model answering."""

import time

from modelpivot.models.cutover import Cutover
from modelpivot.stages.rollback import rollback
from modelpivot.stages.switch import follow_switch, is_unconfirmed, start_switch
from modelpivot.state.cutovers import ask_decision, read_cutover, write_intent
from modelpivot.state.releases import read_book
from tests.switching import SwitchHost, answers


def test_a_spoiled_book_does_not_stop_the_way_back(switch_host: SwitchHost) -> None:
    """releases.json is garbage when the switch goes back: the old release answers and is written down, the garbage is kept beside."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    switch_host.state.book.write_text("{garbage")
    ask_decision(switch_host.state, "return", reason="test")
    closed = switch_host.wait_closed(cutover.run_id)
    assert (closed.outcome, read_book(switch_host.state).current, answers(old)) == ("returned", "old", True)
    assert switch_host.state.book.with_suffix(".unreadable").read_text() == "{garbage"


def test_a_spoiled_book_and_a_dead_switch_end_with_the_old_release(switch_host: SwitchHost) -> None:
    """The switch process dies besides: the one that takes it back does not die of the garbage too."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    switch_host.state.book.write_text("{garbage")
    switch_host.state.decision.write_text("{garbage")
    switch_host.kill_switch(cutover)
    closed = follow_switch(context, cutover, until=lambda now: now.phase == "closed")
    assert (closed.outcome, read_book(switch_host.state).current, answers(old)) == ("returned", "old", True)


def test_an_intent_that_nobody_carries_out_is_not_waited_for(switch_host: SwitchHost) -> None:
    """The run died between its intent and the start of the switch: rollback closes the intent, nothing was touched."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    intent = Cutover(
        id="switch-of-a-dead-run",
        run_id="dead-run",
        from_release=old.id,
        to_release=new.id,
        deadlines=new.deadlines,
        lock_token="gone with it",
        created_at=time.time(),
    )
    write_intent(switch_host.state, intent)
    closed = rollback(switch_host.context())
    assert closed and closed.outcome == "not_started"
    assert (read_cutover(switch_host.state), answers(old)) == (None, True)
