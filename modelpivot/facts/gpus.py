"""GPUs and the processes on them, as `nvidia-smi` tells them. A host without a driver has none; a driver that does not answer is unread.

index, uuid, name, memory.total [MiB], memory.used [MiB], compute_cap, driver_version, mig.mode.current
0, GPU-00000000-1111-2222-3333-444444444444, NVIDIA H200, 143771 MiB, 0 MiB, 9.0, 580.159.04, Disabled
1, GPU-00000000-1111-2222-3333-555555555555, NVIDIA GB10, [N/A], [N/A], 12.1, 580.126.09, [N/A]

gpu_uuid, pid, process_name, used_gpu_memory [MiB]
GPU-00000000-1111-2222-3333-444444444444, 860, VLLM::EngineCore, 132772 MiB
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from modelpivot.errors import CommandFailed
from modelpivot.host import CommandResult, run_command
from modelpivot.models.facts import Gpu, GpuProcess, Gpus
from modelpivot.models.frozen import Unread

GPU_FIELDS = ("index", "uuid", "name", "memory.total", "memory.used", "compute_cap", "driver_version", "mig.mode.current")
NEEDED_FIELDS = ("index", "uuid", "name", "memory.total", "memory.used")
PROCESS_FIELDS = ("gpu_uuid", "pid", "process_name", "used_gpu_memory")
UNKNOWN_FIELD = re.compile(r'Field "([^"]+)" is not a valid field')
QUANTITY = re.compile(r"(\d+)(?: (bytes|KiB|MiB|GiB))?")
UNIT_BYTES = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
NOT_A_VALUE = re.compile(r"\[.*\]|N/A|Unknown.*|Not Supported|Requested functionality.*|ERR!|", re.IGNORECASE)
DRIVER_MARKS = ("dev/nvidiactl", "dev/nvidia0", "proc/driver/nvidia/version")
TIMEOUT_S = 30.0
REMEDIES = (
    ("version mismatch", "the driver was updated under the running kernel module: reboot, or reload the module"),
    ("no devices were found", "the driver runs but finds no GPU: look for Xid lines in `dmesg`, then reboot"),
    (
        "couldn't communicate with the nvidia driver",
        "the kernel module is not loaded: `modprobe nvidia`, or install the driver for this kernel",
    ),
    ("insufficient permissions", "read as root, or as a user who may open /dev/nvidia*"),
    ("gpu is lost", "the GPU fell off the bus: reboot"),
)


class BrokenTable(ValueError):
    """The output has another shape than asked for."""


def read_gpus(root: Path = Path("/")) -> Gpus | Unread:
    """Every GPU and process; `Gpus()` without tool and driver; Unread with the tool's own words and the remedy otherwise.

    `root` is where the driver's marks are looked for.
    """
    tool = shutil.which("nvidia-smi")
    if tool is None:
        marks = [mark for mark in DRIVER_MARKS if (root / mark).exists()]
        return Unread(unread=f"/{marks[0]} is there but nvidia-smi is not on the PATH: install the driver's tools") if marks else Gpus()
    try:
        gpus = parse_gpus(_query_gpus(tool))
        processes = parse_processes(_ask(tool, f"--query-compute-apps={','.join(PROCESS_FIELDS)}").stdout)
    except CommandFailed as error:
        return Unread(unread=_with_remedy("; ".join((error.message, *error.last_lines[:-1]))))
    except BrokenTable as error:
        return Unread(unread=_with_remedy(f"nvidia-smi: {error}"))
    return Gpus(gpus=gpus, processes=processes)


def parse_gpus(text: str) -> list[Gpu]:
    """One GPU a line, by the header's names. BrokenTable when this is no such table, an empty one included."""
    header, rows = _table(text)
    if not rows:
        raise BrokenTable("no devices were found: a header and no GPU below it")
    return [_gpu(dict(zip(header, row, strict=True))) for row in _split_rows(rows, len(header))]


def parse_processes(text: str) -> list[GpuProcess]:
    """One process a line; none is a header alone. A process name may hold commas. BrokenTable when a process number cannot be read."""
    header, rows = _table(text)
    processes = []
    for row in rows:
        parts = [part.strip() for part in row.split(",")]
        if len(parts) < len(PROCESS_FIELDS) or not parts[1].isdigit():
            raise BrokenTable(f"a process without a readable number: {row}")
        used = _quantity("used_gpu_memory", parts[-1], header[-1])
        processes.append(GpuProcess(gpu_uuid=parts[0], pid=int(parts[1]), name=", ".join(parts[2:-1]), used_bytes=used))
    return processes


def _query_gpus(tool: str) -> str:
    """Ask for all fields; those that this driver does not know are left out, one by one."""
    fields = list(GPU_FIELDS)
    while True:
        result = _ask(tool, f"--query-gpu={','.join(fields)}", is_checked=False)
        unknown = UNKNOWN_FIELD.search(result.stdout + result.stderr)
        if result.returncode == 0 or unknown is None or unknown[1] not in fields or unknown[1] in NEEDED_FIELDS:
            _require_success(result)
            return result.stdout
        fields.remove(unknown[1])


def _ask(tool: str, query: str, *, is_checked: bool = True) -> CommandResult:
    return run_command([tool, query, "--format=csv"], timeout_s=TIMEOUT_S, is_checked=is_checked)


def _require_success(result: CommandResult) -> None:
    if result.returncode:
        words = " ".join((result.stdout + " " + result.stderr).split())[:500]
        raise CommandFailed(f"nvidia-smi: exit code {result.returncode}: {words or 'no output'}", returncode=result.returncode)


def _table(text: str) -> tuple[list[str], list[str]]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or "," not in lines[0]:
        raise BrokenTable(lines[0] if lines else "no output")
    return [name.strip() for name in lines[0].split(",")], lines[1:]


def _split_rows(rows: Sequence[str], width: int) -> list[list[str]]:
    split = [[part.strip() for part in row.split(",")] for row in rows]
    for row, parts in zip(rows, split, strict=True):
        if len(parts) != width:
            raise BrokenTable(f"expected {width} columns, found {row!r}")
    return split


def _gpu(row: dict[str, str]) -> Gpu:
    cells = {name.partition(" [")[0]: (name, value) for name, value in row.items()}
    if not set(NEEDED_FIELDS) <= set(cells) or not cells["index"][1].isdigit():
        raise BrokenTable(f"expected a GPU with {', '.join(NEEDED_FIELDS)}, found {row}")
    return Gpu(
        index=int(cells["index"][1]),
        uuid=cells["uuid"][1],
        name=cells["name"][1],
        total_bytes=_quantity("memory.total", cells["memory.total"][1], cells["memory.total"][0]),
        used_bytes=_quantity("memory.used", cells["memory.used"][1], cells["memory.used"][0]),
        compute_capability=_text(cells, "compute_cap"),
        driver=_text(cells, "driver_version"),
        mig=_text(cells, "mig.mode.current"),
    )


def _quantity(field: str, value: str, header: str) -> int | Unread:
    """Bytes; the unit stands behind the number, or in the header when the number is bare."""
    match = QUANTITY.fullmatch(value)
    unit = (match and match[2]) or header.partition("[")[2].rstrip("]")
    if match is None or unit not in UNIT_BYTES:
        return Unread(unread=f"nvidia-smi {field}: {value or 'nothing'}")
    return int(match[1]) * UNIT_BYTES[unit]


def _text(cells: dict[str, tuple[str, str]], field: str) -> str | Unread:
    if field not in cells:
        return Unread(unread=f"nvidia-smi {field}: this driver does not know the field")
    value = cells[field][1]
    return Unread(unread=f"nvidia-smi {field}: {value or 'nothing'}") if NOT_A_VALUE.fullmatch(value) else value


def _with_remedy(message: str) -> str:
    remedy = next((remedy for words, remedy in REMEDIES if words in message.lower()), "run nvidia-smi by hand and mend what it says")
    return f"{message}: {remedy}"
