"""What is remembered of a unit's last start, since systemd forgets it when the unit is gone (`<state>/releases/<id>/invocation.json`)."""

import contextlib
from pathlib import Path

from pydantic import Field

from modelpivot.errors import UsageError
from modelpivot.files import read_model, write_model
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.supervisors.systemctl import UnitFacts
from modelpivot.supervisors.unit_log import Start


class Invocation(Frozen):
    """One start of a unit (`invocation.json`): what is needed to find what it leaves behind once systemd has forgotten it."""

    invocation_id: str = ""
    group: str = ""
    main_pid: int = 0
    """Number of its main process."""
    known: list[ProcessId] = Field(default_factory=list)
    """Its processes when it was stopped last."""
    output: Path | None = None
    """The file that a foreign unit writes to; None: the journal has its words."""


def read_invocation(path: Path) -> Invocation:
    """What is remembered; an empty one when the unit was never started by us, or the file cannot be read: then that is set aside."""
    try:
        return read_model(path, Invocation) or Invocation()
    except (UsageError, OSError):
        with contextlib.suppress(OSError):
            path.rename(path.with_suffix(".unreadable"))
        return Invocation()


def remember_invocation(path: Path, facts: UnitFacts, processes: list[ProcessId]) -> None:
    """Write it down, as far as the disk takes it: a full one must keep no engine from being stopped. A dead process shows no file that it wrote to:
    then it is the one of before."""
    output = _read_output(facts.main_pid) if facts.main_pid else read_invocation(path).output
    start = Invocation(
        invocation_id=facts["InvocationID"],
        group=facts["ControlGroup"],
        main_pid=int(facts["ExecMainPID"] or 0),
        known=processes,
        output=output,
    )
    with contextlib.suppress(OSError):
        write_model(path, start)


def start_of(facts: UnitFacts, before: Invocation) -> Start:
    """The start that systemd knows of, else the one that is remembered; without an invocation where there was none."""
    if facts["InvocationID"]:
        return Start(facts["InvocationID"], facts.name, int(facts["ExecMainPID"] or 0))
    return Start(before.invocation_id, facts.name, before.main_pid)


def _read_output(pid: int) -> Path | None:
    """The file that a process has as its standard output; None: it is no file, or there is no process."""
    with contextlib.suppress(OSError):
        path = Path(f"/proc/{pid}/fd/1").readlink()
        return path if path.is_file() else None
    return None
