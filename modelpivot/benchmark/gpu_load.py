"""Power, clocks, memory and temperature of the GPUs, sampled by `nvidia-smi`; a host without it has none. What a driver does not say is unknown.

index, uuid, power.draw [W], clocks.current.sm [MHz], clocks.current.memory [MHz], memory.used [MiB], temperature.gpu, utilization.gpu [%]
0, GPU-00000000-1111-2222-3333-444444444444, 118.32 W, 1980 MHz, 3201 MHz, 132772 MiB, 34, 97 %
1, GPU-00000000-1111-2222-3333-555555555555, [N/A], 1980 MHz, [N/A], [N/A], 34, [N/A]
"""

import math
import re
import shutil
from collections.abc import Iterable, Sequence
from statistics import fmean

from modelpivot.errors import CommandFailed
from modelpivot.host import run_command
from modelpivot.models.benchmark import GpuLoad
from modelpivot.models.frozen import Frozen

FIELDS = ("power.draw", "clocks.current.sm", "clocks.current.memory", "memory.used", "temperature.gpu", "utilization.gpu")
NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?: (?:W|MHz|MiB|%))?")
TIMEOUT_S = 20.0


class GpuSample(Frozen):
    """One GPU at one moment; None: unknown."""

    index: int
    uuid: str
    power_w: float | None
    sm_clock_mhz: float | None
    memory_clock_mhz: float | None
    used_bytes: int | None
    temperature_c: float | None
    utilization: float | None


def read_samples() -> list[GpuSample]:
    """Every GPU now; none where there is no tool, or it does not answer: a benchmark does not fail for want of its temperature."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        return parse_samples(run_command([tool, f"--query-gpu=index,uuid,{','.join(FIELDS)}", "--format=csv"], timeout_s=TIMEOUT_S).stdout)
    except CommandFailed:
        return []


def parse_samples(text: str) -> list[GpuSample]:
    """One GPU a line below the header; lines of another shape are passed over."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines()[1:]]
    return [_sample(row) for row in rows if len(row) == len(FIELDS) + 2 and row[0].isdigit()]


def _sample(row: Sequence[str]) -> GpuSample:
    power, sm, memory_clock, used_mib, temperature, percent = (_number(cell) for cell in row[2:])
    return GpuSample(
        index=int(row[0]),
        uuid=row[1],
        power_w=power,
        sm_clock_mhz=sm,
        memory_clock_mhz=memory_clock,
        used_bytes=None if used_mib is None else int(used_mib * 2**20),
        temperature_c=temperature,
        utilization=None if percent is None else percent / 100,
    )


def _number(cell: str) -> float | None:
    match = NUMBER.fullmatch(cell)
    value = float(match[1]) if match else math.nan
    return value if math.isfinite(value) else None


def summarize(samples: Sequence[GpuSample]) -> list[GpuLoad]:
    """Every GPU that was seen, by its index."""
    of_each: dict[tuple[int, str], list[GpuSample]] = {}
    for sample in samples:
        of_each.setdefault((sample.index, sample.uuid), []).append(sample)
    return [_load(index, uuid, seen) for (index, uuid), seen in sorted(of_each.items())]


def _load(index: int, uuid: str, seen: Sequence[GpuSample]) -> GpuLoad:
    return GpuLoad(
        index=index,
        uuid=uuid,
        mean_power_w=_mean(one.power_w for one in seen),
        peak_power_w=_highest(one.power_w for one in seen),
        mean_sm_clock_mhz=_mean(one.sm_clock_mhz for one in seen),
        mean_memory_clock_mhz=_mean(one.memory_clock_mhz for one in seen),
        peak_memory_bytes=max((one.used_bytes for one in seen if one.used_bytes is not None), default=None),
        peak_temperature_c=_highest(one.temperature_c for one in seen),
        mean_utilization=_mean(one.utilization for one in seen),
        samples=len(seen),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(fmean(known), 3) if known else None


def _highest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
