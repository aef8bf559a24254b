"""Who a process is: since when it runs, its command line, its user, the unit that holds it. Needs /proc.

{'started_at': 1796042390.2, 'command': '/opt/vllm/bin/python -m vllm...', 'user': 'root', 'unit': 'vllm-glm5.service'}
"""

import os
import pwd
from pathlib import Path
from typing import Any

from modelpivot.host import read_start_time
from modelpivot.supervisors.control_group import parse_groups

LONGEST_COMMAND = 400


def read_process(pid: int, proc: Path = Path("/proc")) -> dict[str, Any]:
    """What can be read of a living process; empty when it is not to be seen here."""
    started = read_start_time(pid) if pid > 0 else None
    if started is None:
        return {}
    folder = proc / str(pid)
    return {
        "started_at": _read_boot_time(proc) + started / os.sysconf("SC_CLK_TCK"),
        "command": _read(folder / "cmdline").replace("\0", " ").strip()[:LONGEST_COMMAND],
        "user": _read_user(folder),
        "unit": unit_of(_read(folder / "cgroup")),
    }


def unit_of(cgroup: str) -> str:
    """The innermost unit in the path of a control group; empty: none."""
    words = [word for path in parse_groups(cgroup) for word in path.split("/") if word.endswith((".service", ".scope"))]
    return words[-1] if words else ""


def environment_of(command: str) -> Path | None:
    """The virtual environment that a command line starts from; None: none can be told."""
    program = Path(command.split(" ", 1)[0])
    folder = program.parent.parent
    return folder if program.is_absolute() and program.parent.name == "bin" and (folder / "pyvenv.cfg").is_file() else None


def _read_boot_time(proc: Path) -> float:
    for line in _read(proc / "stat").splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return 0.0


def _read_user(folder: Path) -> str:
    try:
        number = folder.stat().st_uid
    except OSError:
        return ""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
