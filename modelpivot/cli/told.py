"""A Tell that shows on standard error, for commands that are no run."""

import time
from typing import Self

from modelpivot.cli.output import log_console
from modelpivot.cli.screen import Screen
from modelpivot.models.event import Event, Kind


class Told:
    """A Tell that shows on standard error, for commands that are no run."""

    def __init__(self, stage: str) -> None:
        self._stage, self._screen = stage, Screen(log_console())

    def __enter__(self) -> Self:
        self._screen.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.__exit__(None, None, None)

    def __call__(self, kind: Kind, message: str = "", **data: object) -> None:
        self._screen(Event.model_validate({"at": time.time(), "stage": self._stage, "kind": kind, "message": message, "data": data}))
