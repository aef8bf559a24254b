"""Which living processes are a systemd unit's own: by its control group, by the invocation id in their environment, by parentage.

$ cat /proc/1234/cgroup
0::/system.slice/vllm-glm5.service
"""

from collections.abc import Iterable
from pathlib import Path

from modelpivot.host import boot_id
from modelpivot.models.cutover import ProcessId
from modelpivot.supervisors.lineage import carries, read_rows, with_descendants

INVOCATION_VARIABLE = "INVOCATION_ID"


def read_group_processes(groups: set[str], invocation_ids: set[str], known: Iterable[ProcessId] = ()) -> list[ProcessId]:
    """Every living process of the unit. `known`: proved earlier, counted while they live, with all that descends from them.

    Groups and ids as systemd names them, those of an earlier start too; an empty one counts nobody.
    """
    rows, boot = read_rows(), boot_id()
    alive = {row.pid: ProcessId(pid=row.pid, start_time=row.start_time, boot_id=boot) for row in rows.values()}
    seen = {process.pid for process in known if alive.get(process.pid) == process}
    seen |= {pid for pid in rows if is_in_group(pid, groups - {""}) or _carries_one(pid, invocation_ids - {""})}
    return [alive[pid] for pid in sorted(with_descendants(seen, rows))]


def _carries_one(pid: int, invocation_ids: set[str]) -> bool:
    return any(carries(pid, INVOCATION_VARIABLE, invocation_id) for invocation_id in invocation_ids)


def is_in_group(pid: int, groups: set[str]) -> bool:
    """Whether the process is in one of the control groups or below it; False when it is gone."""
    try:
        text = Path(f"/proc/{pid}/cgroup").read_text(errors="surrogateescape")
    except OSError:
        return False
    return any(is_below(path, group) for path in parse_groups(text) for group in groups)


def parse_groups(text: str) -> list[str]:
    """The paths that systemd manages: of the unified hierarchy, and of its own in the older one."""
    fields = [line.split(":", 2) for line in text.splitlines()]
    return [entry[2] for entry in fields if len(entry) == 3 and entry[1] in ("", "name=systemd")]


def is_below(path: str, group: str) -> bool:
    """Whether a control group is this one or lies below it."""
    return path == group or path.startswith(f"{group}/")


def read_service(pid: int) -> str:
    """The system service that a process runs in, by the outermost name in its control group; empty: none, a user's session, or it is gone."""
    try:
        text = Path(f"/proc/{pid}/cgroup").read_text(errors="surrogateescape")
    except OSError:
        return ""
    name = next((name for path in parse_groups(text) for name in path.split("/") if name.endswith(".service")), "")
    return "" if name.startswith("user@") else name
