"""What is remembered of a unit's last start, since systemd forgets it when the unit is gone (`<state>/releases/<id>/invocation.json`)."""

import contextlib
from pathlib import Path

from pydantic import Field

from modelpivot.files import read_model, write_model
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.supervisors.systemctl import UnitFacts


class Invocation(Frozen):
    """One start of a unit (`invocation.json`): what is needed to find what it leaves behind once systemd has forgotten it."""

    invocation_id: str = ""
    group: str = ""
    known: list[ProcessId] = Field(default_factory=list)
    """Its processes when it was stopped last."""
    output: Path | None = None
    """The file that a foreign unit writes to; None: the journal has its words."""


def read_invocation(path: Path) -> Invocation:
    """What is remembered; an empty one when the unit was never started by us."""
    return read_model(path, Invocation) or Invocation()


def remember_invocation(path: Path, facts: UnitFacts, processes: list[ProcessId]) -> None:
    """Write it down, as far as the disk takes it: a full one must keep no engine from being stopped."""
    start = Invocation(
        invocation_id=facts["InvocationID"], group=facts["ControlGroup"], known=processes, output=_read_output(facts.main_pid)
    )
    with contextlib.suppress(OSError):
        write_model(path, start)


def _read_output(pid: int) -> Path | None:
    """The file that a process has as its standard output; None: it is no file, or there is no process."""
    with contextlib.suppress(OSError):
        path = Path(f"/proc/{pid}/fd/1").readlink()
        return path if path.is_file() else None
    return None
