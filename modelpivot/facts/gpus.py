"""GPUs and the processes on them: NVML first, `nvidia-smi` where its library is not to be had. Nothing is created on a GPU by looking.

A host without a driver has none; a driver that does not answer is unread.
"""

import shutil
import time
from pathlib import Path

from modelpivot.facts.nvidia_smi import read_links_with_tool, read_with_tool
from modelpivot.facts.nvml import NoLibrary, read_links_with_library, read_with_library
from modelpivot.facts.processes import read_process
from modelpivot.facts.reading import Reading
from modelpivot.models.facts import GpuLink, GpuProcess, Gpus
from modelpivot.models.frozen import Unread

DRIVER_MARKS = ("dev/nvidiactl", "dev/nvidia0", "proc/driver/nvidia/version")
LIBRARY_DEADLINE_S = 30.0
"""A wedged driver holds a call for ever: the question is left alone then, and the answer is unread."""


def read_gpus(root: Path = Path("/")) -> Gpus | Unread:
    """Every GPU and process; `Gpus()` without library, tool and driver; Unread with the driver's own words and the remedy otherwise.

    `root` is where the driver's marks are looked for.
    """
    try:
        found = Reading("NVML", read_with_library).result(time.monotonic() + LIBRARY_DEADLINE_S)
    except NoLibrary as error:
        found = _read_without_library(root, str(error))
    if isinstance(found, Unread):
        return found
    return found.model_copy(update={"processes": [_seen(process) for process in found.processes]})


def read_gpu_links() -> list[GpuLink] | Unread:
    """How every pair of GPUs is joined; empty with fewer than two."""
    try:
        return Reading("NVML topology", read_links_with_library).result(time.monotonic() + LIBRARY_DEADLINE_S)
    except NoLibrary:
        tool = shutil.which("nvidia-smi")
        return read_links_with_tool(tool) if tool else []


def _read_without_library(root: Path, why: str) -> Gpus | Unread:
    if tool := shutil.which("nvidia-smi"):
        return read_with_tool(tool)
    marks = [mark for mark in DRIVER_MARKS if (root / mark).exists()]
    if not marks:
        return Gpus()
    return Unread(
        unread=f"/{marks[0]} is there but nvidia-smi is not on the PATH and NVML does not load ({why}): install the driver's tools"
    )


def _seen(process: GpuProcess) -> GpuProcess:
    """With what this host's /proc says of it; a process of another namespace stays a number."""
    return process.model_copy(update=read_process(process.pid))
