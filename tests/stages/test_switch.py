"""A switch from one stand-in engine to another, as a run does it."""

import time

from modelpivot.stages.promote import promote
from modelpivot.stages.switch import follow_switch, is_unconfirmed, start_switch
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import read_lock
from modelpivot.state.releases import read_book
from modelpivot.state.runs import read_events
from tests.switching import SwitchHost, answers


def test_promoted(switch_host: SwitchHost) -> None:
    """A switch that is promoted ends with the new release current and answering, the old one gone, nothing open and nothing locked."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    assert cutover.phase == "unconfirmed"
    assert answers(new)
    closed = promote(context)
    assert (closed.outcome, closed.reason) == ("promoted", "")
    assert answers(new)
    assert len(switch_host.engines()) == 1
    book = read_book(switch_host.state)
    assert (book.current, book.previous, book.proved) == ("new", "old", ["old", "new"])
    assert read_cutover(switch_host.state) is None
    assert read_lock(switch_host.state) is None


def test_downtime_is_measured(switch_host: SwitchHost) -> None:
    """The switch counts what a client lost, from the last good answer to the first good one."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    before = time.time()
    lost = switch_host.switch(old, new).lost
    assert lost.lost_requests >= 1
    assert 0.3 < lost.downtime_s < time.time() - before


def test_steps_are_told(switch_host: SwitchHost) -> None:
    """Journal and switch name every step with its seconds."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    closed = switch_host.switch(old, new)
    assert [step.name for step in closed.steps] == ["stop old", "prove free", "serve", "ready", "probe"]
    events, _ = read_events(switch_host.state.run(closed.run_id))
    finished = {event.stage: event.data["seconds"] for event in events if event.kind == "finished"}
    assert {"stop old", "prove free", "serve", "ready", "probe", "switch"} <= set(finished)
