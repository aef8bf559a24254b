"""Back to the release before: an open switch is asked to return, otherwise the releases are exchanged once more."""

from modelpivot.errors import PreconditionError
from modelpivot.models.cutover import Cutover
from modelpivot.models.release import Release, Stopped
from modelpivot.stages.context import Context
from modelpivot.stages.standing_down import start_again
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.state.cutovers import ask_decision, read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_book, read_release


def rollback(context: Context, *, reason: str = "asked for") -> Cutover:
    """The closed switch. An open one comes back `returned`; what was stopped by name serves again; otherwise the release before is `promoted`.

    PreconditionError without a release before, or when the switch to it did not begin: nothing was touched.
    """
    if cutover := read_cutover(context.state):
        ask_decision(context.state, "return", reason=reason)
        return follow_switch(context, cutover, until=is_closed)
    if (stopped := read_book(context.state).stopped) is not None:
        return _undo_cleanup(context, stopped)
    current, previous = read_pair(context.state)
    cutover = start_switch(context, to=previous, frm=current, confirm="automatic")
    closed = follow_switch(context, cutover, until=is_closed)
    if closed.outcome == "not_started":
        raise PreconditionError(f"the switch did not begin: {closed.reason}", hint="nothing was touched; mend it, then roll back again")
    return closed


def _undo_cleanup(context: Context, stopped: Stopped) -> Cutover:
    """What was stopped by name serves again: it is what served before."""
    again = start_again(context) if stopped.is_release else None
    if again is None:
        what = "was never adopted, so that no switch leads back to it" if not stopped.is_release else "had not stopped yet: it serves on"
        raise PreconditionError(
            f"{stopped.name} was stopped by name and {what}", hint="`modelpivot recover` starts what was stopped by name"
        )
    return again


def read_pair(state: StatePaths) -> tuple[Release | None, Release]:
    """The current release and the one before. PreconditionError when there is none, or its parts are gone."""
    book = read_book(state)
    if book.previous is None:
        raise PreconditionError(
            "there is no release before the current one to go back to", hint="modelpivot history tells what served when"
        )
    previous = read_release(state, book.previous)
    missing = [str(path) for path in (previous.environment_dir, previous.view_dir) if not path.exists()]
    if missing:
        remedy = "put it back" if previous.origin == "adopted" else "run its recipe again: modelpivot run brings it back"
        raise PreconditionError(f"{previous.id} is no longer whole: {', '.join(missing)} is gone", hint=remedy)
    return (read_release(state, book.current) if book.current else None), previous
