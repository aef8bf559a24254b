"""Who keeps an unconfirmed release, and what happens when nobody does."""

import os
import signal

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.models.recipe import Deadlines
from modelpivot.stages.confirm import LOOK_EVERY_S
from modelpivot.stages.promote import promote
from modelpivot.stages.switch import follow_switch, is_closed, is_unconfirmed, start_switch
from modelpivot.state.releases import read_book
from tests.switching import DEADLINES, SwitchHost, answers

SHORT = Deadlines.model_validate(DEADLINES.model_dump() | {"confirm_s": 0.5})


def test_nothing_to_promote(switch_host: SwitchHost) -> None:
    """Without an open switch there is nothing to promote, and that is said."""
    with pytest.raises(PreconditionError, match="no switch is open"):
        promote(switch_host.context())


def test_kept_at_the_deadline(switch_host: SwitchHost) -> None:
    """With `unconfirmed: keep` silence is consent, and the reason says so."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", deadlines=SHORT)
    context = switch_host.context()
    closed = follow_switch(context, start_switch(context, to=new, frm=old, unconfirmed="keep"), until=is_closed)
    assert (closed.outcome, read_book(switch_host.state).current) == ("promoted", "new")
    assert "kept" in closed.reason
    assert answers(new)


def test_deadline_is_told(switch_host: SwitchHost) -> None:
    """An unconfirmed switch says until when it waits."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    assert cutover.confirm_by is not None
    assert cutover.confirm_by - cutover.phase_since == pytest.approx(DEADLINES.confirm_s, abs=1)


def test_death_while_unconfirmed(switch_host: SwitchHost) -> None:
    """A new engine that dies while nobody has decided brings the old one back at once."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    main = switch_host.supervisor.status(new).main
    assert main is not None
    os.kill(main.pid, signal.SIGKILL)
    closed = follow_switch(context, cutover, until=is_closed)
    assert closed.outcome == "returned"
    assert "ended while it was unconfirmed" in closed.reason
    assert answers(old)


BRISK = DEADLINES.model_copy(update={"probe_s": LOOK_EVERY_S - 1, "confirm_s": LOOK_EVERY_S + 1})


def test_the_pause_between_two_looks_is_no_silence(switch_host: SwitchHost) -> None:
    """A release that has less time for an answer than lies between two looks at it: it answers whenever it is asked, and stays."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", deadlines=BRISK)
    context = switch_host.context()
    closed = follow_switch(context, start_switch(context, to=new, frm=old, unconfirmed="keep"), until=is_closed)
    assert closed.outcome == "promoted", closed.reason
    assert answers(new)


def test_silence_while_unconfirmed(switch_host: SwitchHost) -> None:
    """A new engine that hangs while nobody has decided brings the old one back when it has not answered for `probe_s`."""
    patient = BRISK.model_copy(update={"confirm_s": DEADLINES.confirm_s})
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", deadlines=patient)
    context = switch_host.context()
    cutover = follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    main = switch_host.supervisor.status(new).main
    assert main is not None
    os.kill(main.pid, signal.SIGSTOP)
    closed = follow_switch(context, cutover, until=is_closed)
    assert closed.outcome == "returned"
    assert "generated nothing for" in closed.reason
    assert answers(old)


def test_first_release_is_kept_in_silence(switch_host: SwitchHost) -> None:
    """Where nothing served before, nobody's silence takes the proved release away: the host would be left without a model."""
    new = switch_host.release("new", deadlines=SHORT)
    context = switch_host.context()
    closed = follow_switch(context, start_switch(context, to=new, frm=None), until=is_closed)
    assert (closed.outcome, read_book(switch_host.state).current) == ("promoted", "new")
    assert "nothing served before" in closed.reason
    assert answers(new)


def test_first_release_is_kept_when_its_switch_dies(switch_host: SwitchHost) -> None:
    """Where nothing served before, the death of the switch process takes no proved release away either."""
    new = switch_host.release("new")
    context = switch_host.context()
    cutover = follow_switch(context, start_switch(context, to=new, frm=None), until=is_unconfirmed)
    switch_host.kill_switch(cutover)
    closed = follow_switch(context, cutover, until=is_closed)
    assert closed.outcome == "promoted"
    assert answers(new)
