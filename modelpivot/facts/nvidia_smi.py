"""GPUs, the processes on them and their topology, as `nvidia-smi` tells them: the way for a host whose NVML library is not to be had.

index, uuid, name, memory.total [MiB], memory.used [MiB], compute_cap, driver_version, mig.mode.current
0, GPU-00000000-1111-2222-3333-444444444444, NVIDIA H200, 143771 MiB, 0 MiB, 9.0, 580.159.04, Disabled
1, GPU-00000000-1111-2222-3333-555555555555, NVIDIA GB10, [N/A], [N/A], 12.1, 580.126.09, [N/A]

gpu_uuid, pid, process_name, used_gpu_memory [MiB]
GPU-00000000-1111-2222-3333-444444444444, 860, VLLM::EngineCore, 132772 MiB
"""

import re
from collections.abc import Sequence

from modelpivot.errors import CommandFailed
from modelpivot.host import CommandResult, run_command
from modelpivot.models.facts import Gpu, GpuLink, GpuProcess, Gpus
from modelpivot.models.frozen import Unread

GPU_FIELDS = (
    "index",
    "uuid",
    "name",
    "memory.total",
    "memory.used",
    "compute_cap",
    "driver_version",
    "mig.mode.current",
    "memory.reserved",
    "pci.bus_id",
)
NEEDED_FIELDS = ("index", "uuid", "name", "memory.total", "memory.used")
PROCESS_FIELDS = ("gpu_uuid", "pid", "process_name", "used_gpu_memory")
UNKNOWN_FIELD = re.compile(r'Field "([^"]+)" is not a valid field')
QUANTITY = re.compile(r"(\d+)(?: (bytes|KiB|MiB|GiB))?")
UNIT_BYTES = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
NOT_A_VALUE = re.compile(r"\[.*\]|N/A|Unknown.*|Not Supported|Requested functionality.*|ERR!|", re.IGNORECASE)
CUDA_VERSION = re.compile(r"CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
LEVEL = re.compile(r"NV\d+|PIX|PXB|PHB|NODE|SYS|PSB")
P2P = {"OK": True, "CNS": False, "GNS": False, "TNS": False, "NS": False, "DR": False}
TIMEOUT_S = 30.0
REMEDIES = (
    ("version mismatch", "the driver was updated under the running kernel module: reboot, or reload the module"),
    ("no devices were found", "the driver runs but finds no GPU: look for Xid lines in `dmesg`, then reboot"),
    (
        "couldn't communicate with the nvidia driver",
        "the kernel module is not loaded: `modprobe nvidia`, or install the driver for this kernel",
    ),
    ("driver not loaded", "the kernel module is not loaded: `modprobe nvidia`, or install the driver for this kernel"),
    ("requires re", "the GPU must be reset or the host rebooted; stop what uses it first"),
    ("insufficient permissions", "read as root, or as a user who may open /dev/nvidia*"),
    ("gpu is lost", "the GPU fell off the bus: reboot"),
)


class BrokenTable(ValueError):
    """The output has another shape than asked for."""


def read_with_tool(tool: str) -> Gpus | Unread:
    """Every GPU and process; Unread with the tool's own words and the remedy."""
    try:
        gpus = parse_gpus(_query_gpus(tool))
        processes = parse_processes(_ask(tool, f"--query-compute-apps={','.join(PROCESS_FIELDS)}").stdout)
    except CommandFailed as error:
        return Unread(unread=with_remedy("; ".join((error.message, *error.last_lines[:-1]))))
    except BrokenTable as error:
        return Unread(unread=with_remedy(f"nvidia-smi: {error}"))
    cuda = _read_cuda(tool)
    return Gpus(gpus=[gpu.model_copy(update={"cuda": cuda}) for gpu in gpus], processes=processes, read_with="nvidia-smi")


def _read_cuda(tool: str) -> str | Unread:
    """The CUDA version stands in the plain output's head only."""
    result = run_command([tool], timeout_s=TIMEOUT_S, is_checked=False)
    match = CUDA_VERSION.search(result.stdout) if result.returncode == 0 else None
    return match[1] if match else Unread(unread="nvidia-smi: no CUDA version in its head")


def read_links_with_tool(tool: str) -> list[GpuLink] | Unread:
    """Topology and peer-to-peer reach of every pair."""
    try:
        levels = parse_matrix(run_command([tool, "topo", "-m"], timeout_s=TIMEOUT_S).stdout)
        reach = run_command([tool, "topo", "-p2p", "r"], timeout_s=TIMEOUT_S, is_checked=False)
    except CommandFailed as error:
        return Unread(unread=str(error))
    peers = parse_matrix(reach.stdout) if reach.returncode == 0 else {}
    unknown = Unread(unread="nvidia-smi topo -p2p: not told")
    return [
        GpuLink(first=a, second=b, level=level, has_p2p=P2P.get(peers.get((a, b), ""), unknown)) for (a, b), level in sorted(levels.items())
    ]


def parse_matrix(text: str) -> dict[tuple[int, int], str]:
    """Upper half of a matrix `GPU0 GPU1 ...` of words, colours and tabs aside; empty for one GPU. Columns that are no GPU (NICs) are passed over."""
    rows = [line.split() for line in ESCAPES.sub("", text).splitlines() if line.strip()]
    header = next((row for row in rows if row[0].startswith("GPU")), [])
    columns = [int(word[3:]) for word in header if re.fullmatch(r"GPU\d+", word)]
    found: dict[tuple[int, int], str] = {}
    for row in rows:
        name = re.fullmatch(r"GPU(\d+)", row[0])
        cells = row[1 : 1 + len(columns)]
        if name and row is not header and len(cells) == len(columns):
            found |= {(int(name[1]), column): word for column, word in zip(columns, cells, strict=True) if column > int(name[1])}
    return {pair: word for pair, word in found.items() if LEVEL.fullmatch(word) or word in P2P}


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
        reserved_bytes=_optional_quantity(cells, "memory.reserved"),
        pci=short_pci(cells["pci.bus_id"][1]) if "pci.bus_id" in cells else "",
    )


def short_pci(address: str) -> str:
    """`00000000:01:00.0` is 0000:01:00.0, as the kernel writes it."""
    domain, _, rest = address.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if rest else ""


def _optional_quantity(cells: dict[str, tuple[str, str]], field: str) -> int | Unread:
    if field not in cells:
        return Unread(unread=f"nvidia-smi {field}: this driver does not know the field")
    return _quantity(field, cells[field][1], cells[field][0])


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


def with_remedy(message: str) -> str:
    """The driver's words with the next move behind them."""
    remedy = next((remedy for words, remedy in REMEDIES if words in message.lower()), "run nvidia-smi by hand and mend what it says")
    return f"{message}: {remedy}"
