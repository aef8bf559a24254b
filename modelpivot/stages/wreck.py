"""What is said when neither way of a switch led to a release that answers. Called by the switch."""

from collections.abc import Callable, Sequence

from modelpivot.errors import PivotError
from modelpivot.models.release import Release
from modelpivot.stages.hand import Hand


def describe_wreck(hand: Hand, frm: Release | None, to: Release, why: PivotError, problems: Sequence[str]) -> str:
    """What stands on the host and what to do, in one sentence a fact; a fact that cannot be read is said to be so."""
    states = [_describe(hand, release) for release in (frm, to) if release]
    return (
        f"{why.message}; the way back failed: {'; then '.join(problems)}. On this host: {'; '.join(states)}. "
        "Mend what the log says, then `modelpivot recover` starts the current release again"
    )


def _describe(hand: Hand, release: Release) -> str:
    state = _read(lambda: hand.supervisor.status(release).state)
    return f"{release.id} is {state}, log {_read(lambda: str(hand.supervisor.log_path(release)))}"


def _read(read: Callable[[], str]) -> str:
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - whatever it is, the switch must be closed with words
        return f"unknown ({getattr(error, 'message', error)})"
