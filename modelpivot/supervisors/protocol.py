"""What a supervisor can do. A unit is one release; the switch is a process that outlives whoever started it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.models.release import Release


class UnitStatus(Frozen):
    """What a supervisor knows of one release's unit."""

    state: Literal["running", "stopped", "failed"]
    main: ProcessId | None = None
    exit_code: int | None = None
    """Of the main process, where it is known."""
    is_held_up: bool = False
    """It was told to start, and something that is not its engine's comes first: another unit, a mount, its own preparations."""


class Supervisor(Protocol):
    """Starts and stops the engine of a release; every call is idempotent."""

    name: str

    def prepare(self, release: Release) -> None:
        """Everything of a start that can be done, and found wrong, before the old release stops. Nothing runs yet."""
        ...

    def start(self, release: Release) -> UnitStatus:
        """Start the unit; nothing to do when it runs. CommandFailed when the binary is missing, as far as that shows at once: a unit that is held
        up (`status` tells) is started later, by itself."""
        ...

    def start_gated(self, release: Release, argv: Sequence[str]) -> UnitStatus:
        """Start the unit with another command line, that of its gate; when the gate is open, `start` makes the unit what it always is.

        Such a unit is never started again by itself. CommandFailed when it cannot be: nothing runs then.
        """
        ...

    def stop(self, release: Release, *, timeout_s: float) -> None:
        """SIGTERM, SIGKILL after `timeout_s`; returns when nothing of the unit is left, or raises."""
        ...

    def status(self, release: Release) -> UnitStatus:
        """State of the unit now."""
        ...

    def processes(self, release: Release) -> list[ProcessId]:
        """Every living process proved to be of this unit, those that left its group included."""
        ...

    def log_path(self, release: Release) -> Path:
        """The engine's output since its last start."""
        ...

    def enable(self, release: Release) -> None:
        """Start the unit at every boot, where the supervisor lives so long."""
        ...

    def disable(self, release: Release) -> None:
        """Start the unit at no boot."""
        ...

    def forget(self, release: Release) -> None:
        """Take out what starts a release that is not to come back, and is stopped; nothing of a service that was not made by us."""
        ...

    def is_host_stopping(self) -> bool:
        """Whether the machine goes down: nothing can be started any more, and what is open is taken back after the boot."""
        ...

    def start_switch(self, argv: Sequence[str], *, env: Mapping[str, str], log: Path) -> ProcessId:
        """Start the switch so that it outlives the run, the flow and Prefect."""
        ...
