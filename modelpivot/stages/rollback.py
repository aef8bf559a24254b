"""Back to the release before: an open switch is asked to return, otherwise the releases are exchanged once more."""

from collections.abc import Sequence

from modelpivot.errors import PreconditionError
from modelpivot.models.cutover import Cutover
from modelpivot.models.release import Release
from modelpivot.stages.context import Context
from modelpivot.stages.standing import settle_standing
from modelpivot.stages.standing_down import start_again
from modelpivot.stages.switch import follow_switch, is_closed, switch_over
from modelpivot.state.cutovers import ask_decision, read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_book, read_release

NOTHING_MOVED = "what was tried is gone; what serves was not touched"


def rollback(context: Context, *, reason: str = "somebody asked for it (rollback)") -> Cutover | None:
    """The closed switch. An open one comes back `returned`; what was stopped by name serves again, without a switch (None) where it is no release
    or had not stopped yet; otherwise the release before is `promoted`.

    PreconditionError without a release before, or when the switch to it did not begin: nothing was touched. Else as `start_again`.
    """
    if cutover := read_cutover(context.state):
        ask_decision(context.state, "return", reason=reason)
        closed = follow_switch(context, cutover, until=is_closed)
        settle_standing(context, closed)
        return closed
    if read_book(context.state).stopped:
        return start_again(context)
    current, previous = read_pair(context.state)
    return switch_over(context, to=previous, frm=current)


def is_rolled_back(context: Context, closed: Cutover) -> bool:
    """Whether the closed switch of a rollback came to what was asked for; else the reason is its own, or it was promoted in that very moment."""
    return closed.outcome == ("promoted" if closed.run_id == context.run.id else "returned")


def say_rolled_back(closed: Cutover | None, again: Sequence[str] = ()) -> str:
    """What serves after it, in one line. `again`: what had been stopped by name and runs again."""
    back = None if closed is None else closed.from_release if closed.outcome == "returned" else closed.to_release
    names = [*([back] if back else []), *(name for name in again if name != back)]
    return f"{', '.join(names)} {'serves' if len(names) == 1 else 'serve'} again" if names else NOTHING_MOVED


def say_kept(closed: Cutover) -> str:
    """Why it did not come to that, in one line."""
    return f"{closed.to_release} was promoted in that very moment and serves" if closed.outcome == "promoted" else closed.reason


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
