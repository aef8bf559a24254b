"""A Tell that shows on standard error, for commands that are no run."""

import sys
import time
from typing import TYPE_CHECKING, Self

from modelpivot.models.event import Event, Kind

if TYPE_CHECKING:
    from modelpivot.cli.screen import Screen

UNSEEN = frozenset({"progress", "log"})
"""What only a terminal shows."""


class Told:
    """A Tell that shows on standard error, for commands that are no run. The screen is made when there is something to show on it."""

    def __init__(self, stage: str) -> None:
        self._stage, self._screen, self._is_terminal = stage, None, sys.stderr.isatty()  # type: str, Screen | None, bool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen:
            self._screen.__exit__(None, None, None)

    def __call__(self, kind: Kind, message: str = "", **data: object) -> None:
        if self._is_terminal or kind not in UNSEEN:
            event = {"at": time.time(), "stage": self._stage, "kind": kind, "message": message, "data": data}
            self._shown()(Event.model_validate(event))

    def _shown(self) -> "Screen":
        if self._screen is None:
            from modelpivot.cli.output import log_console
            from modelpivot.cli.screen import Screen

            self._screen = Screen(log_console())
            self._screen.__enter__()
        return self._screen
