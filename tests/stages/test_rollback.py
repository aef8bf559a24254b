"""Back to the release before."""

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.stages.rollback import rollback
from modelpivot.stages.switch import follow_switch, is_unconfirmed, start_switch
from modelpivot.state.releases import read_book, write_release
from tests.switching import SwitchHost, answers


def test_after_a_promotion(switch_host: SwitchHost) -> None:
    """The release before is served again and current; what was current is the one before."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    assert switch_host.switch(old, new).outcome == "promoted"
    closed = rollback(switch_host.context())
    assert closed and closed.outcome == "promoted"
    assert answers(old)
    book = read_book(switch_host.state)
    assert (book.current, book.previous) == ("old", "new")


def test_while_unconfirmed(switch_host: SwitchHost) -> None:
    """An open switch is asked to return."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    closed = rollback(switch_host.context(), reason="too slow")
    assert closed and (closed.outcome, closed.reason) == ("returned", "too slow")
    assert answers(old)


def test_nothing_before(switch_host: SwitchHost) -> None:
    """Without a release before there is no way back, and that is said."""
    switch_host.serve(switch_host.release("old"))
    with pytest.raises(PreconditionError, match="no release before"):
        rollback(switch_host.context())


def test_parts_gone(switch_host: SwitchHost) -> None:
    """A release before whose environment is gone is refused while the current one still serves."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    assert switch_host.switch(old, new).outcome == "promoted"
    gone = switch_host.root / "gone"
    write_release(switch_host.state, old.model_copy(update={"environment_dir": gone}))
    with pytest.raises(PreconditionError, match="gone is gone"):
        rollback(switch_host.context())
    assert answers(new)
