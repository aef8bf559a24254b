"""The command line of a gate in place of a unit's own, for one start: a drop-in that the next boot does not know.

/run/systemd/system/<unit>.d/modelpivot-gate.conf

The unit's own text stays as it is, and counts again as soon as the drop-in is gone: also for a process that came through the gate.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from modelpivot.files import write_atomic
from modelpivot.supervisors.systemctl import systemctl
from modelpivot.supervisors.unit_text import quote_command

RUNTIME = Path("/run/systemd/system")
GATE = """# Made by modelpivot for a start that waits until another release has stopped.
[Service]
ExecStart=
ExecStart=:{command}
# What waits must never start again by itself.
Restart=no
# It lowers its priority while it waits, and has its own behind the gate, whoever it runs as.
LimitNICE=+0
"""


def gate_file(unit: str) -> Path:
    """The drop-in of a unit."""
    return RUNTIME / f"{unit}.d" / "modelpivot-gate.conf"


def place_gate(unit: str, argv: Sequence[str]) -> None:
    """The unit's next start runs `argv`, and nothing restarts it."""
    write_atomic(gate_file(unit), GATE.format(command=quote_command(argv)))
    systemctl("daemon-reload")


def remove_gate(unit: str) -> None:
    """The unit is what its own text says; nothing to do when it is that already."""
    path = gate_file(unit)
    if path.exists():
        path.unlink()
        with contextlib.suppress(OSError):  # somebody else's drop-in lies there too
            path.parent.rmdir()
        systemctl("daemon-reload")
