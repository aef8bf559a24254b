"""What the state on disk says of this host: which release is current, and whether a switch is open."""

from pathlib import Path
from typing import NamedTuple

from modelpivot.errors import PivotError
from modelpivot.models.cutover import Cutover
from modelpivot.models.frozen import Unread
from modelpivot.models.release import Release
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_current


class Known(NamedTuple):
    """By the books of this host."""

    current: Release | None = None
    cutover: Cutover | None = None
    unread: Unread | None = None
    """Why the state cannot be read; current and cutover say nothing then."""

    @property
    def live_dir(self) -> Path | None:
        """The environment that the current release runs from."""
        return self.current.environment_dir if self.current else None


def read_known(state: StatePaths, *, may_be_unread: bool = False) -> Known:
    """UsageError, PreconditionError or OSError when the state cannot be read; with `may_be_unread`, for who only looks, that is an answer."""
    try:
        return Known(read_current(state), read_cutover(state))
    except (PivotError, OSError) as error:
        if not may_be_unread:
            raise
        return Known(unread=Unread(unread=f"state in {state.root}: {getattr(error, 'message', error)}"))
