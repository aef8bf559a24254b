"""Which living processes are a unit's own: by the token in their environment, by the group of its main process, by parentage.

A unit's token is random and new for every start; a process that carries it was started by that unit, whatever session or parent it has
by now. The group counts while the main process lives; afterwards only for a process whose environment cannot be read (one that was
renamed), since the kernel keeps the number of a group that still has members. Parentage counts for all that descends from these.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from modelpivot.host import boot_id
from modelpivot.models.cutover import ProcessId

TOKEN_VARIABLE = "MODELPIVOT_UNIT_TOKEN"  # noqa: S105 the name of a variable


@dataclass(frozen=True)
class Row:
    """One living process, as /proc/<pid>/stat tells it."""

    pid: int
    parent: int
    group: int
    session: int
    start_time: int


def read_rows() -> dict[int, Row]:
    """Every living process of this host by its number; zombies are gone."""
    rows = (_read_row(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {row.pid: row for row in rows if row is not None}


def _read_row(entry: Path) -> Row | None:
    try:
        fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in "ZX":
        return None
    return Row(int(entry.name), parent=int(fields[1]), group=int(fields[2]), session=int(fields[3]), start_time=int(fields[19]))


def read_unit_processes(main: ProcessId | None, token: str, known: Iterable[ProcessId] = ()) -> list[ProcessId]:
    """Every living process proved to be of the unit. `known`: proved earlier, counted while they live, with all that descends from them."""
    rows, boot = read_rows(), boot_id()
    seen = {process.pid for process in known if process.boot_id == boot and _is(rows, process)}
    for row in rows.values():
        is_marked = carries(row.pid, TOKEN_VARIABLE, token)
        if is_marked or (main is not None and main.boot_id == boot and _is_of_group(rows, row, main, is_blank=is_marked is None)):
            seen.add(row.pid)
    return [ProcessId(pid=pid, start_time=rows[pid].start_time, boot_id=boot) for pid in sorted(with_descendants(seen, rows))]


def _is(rows: Mapping[int, Row], process: ProcessId) -> bool:
    row = rows.get(process.pid)
    return row is not None and row.start_time == process.start_time


def _is_of_group(rows: Mapping[int, Row], row: Row, main: ProcessId, *, is_blank: bool) -> bool:
    if row.group != main.pid or row.start_time < main.start_time:
        return False
    return _is(rows, main) or (main.pid not in rows and row.session == main.pid and is_blank)


def carries(pid: int, variable: str, value: str) -> bool | None:
    """Whether the process has the variable with this value; None when its environment cannot be read or was overwritten."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    if f"{variable}={value}".encode() in environment.split(b"\0"):
        return True
    return False if environment.strip(b"\0 ") else None


def with_descendants(pids: set[int], rows: Mapping[int, Row]) -> set[int]:
    """The processes and all that descends from them."""
    found, grew = set(pids), True
    while grew:
        more = {row.pid for row in rows.values() if row.parent in found} - found
        found, grew = found | more, bool(more)
    return found


def read_memory_bytes(processes: Iterable[ProcessId]) -> int:
    """Resident memory of the processes together; those that are gone count nothing."""
    return sum(_read_resident(process.pid) for process in processes)


def _read_resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError, ValueError):
        return 0
