"""What is said when neither way of a switch led to a release that answers. Called by the switch."""

from collections.abc import Sequence

from modelpivot.errors import PivotError
from modelpivot.models.release import Release
from modelpivot.stages.hand import Hand


def describe_wreck(hand: Hand, frm: Release | None, to: Release, why: PivotError, problems: Sequence[str]) -> str:
    """What stands on the host and what to do, in one sentence a fact."""
    states = [
        f"{release.id} is {hand.supervisor.status(release).state}, log {hand.supervisor.log_path(release)}"
        for release in (frm, to)
        if release
    ]
    return (
        f"{why.message}; the way back failed: {'; then '.join(problems)}. On this host: {'; '.join(states)}. "
        "Mend what the log says, then `modelpivot recover` starts the current release again"
    )
