"""Bytes as people read them: both units, since vendors, tools and disks do not agree on one."""

import math


def say_bytes(count: float) -> str:
    """`540.1 GB (503.0 GiB)`; below 1000 in bytes."""
    if count < 1000:
        return f"{count:.0f} bytes"
    return f"{_scaled(count, 1000, ('kB', 'MB', 'GB', 'TB'))} ({_scaled(count, 1024, ('KiB', 'MiB', 'GiB', 'TiB'))})"


def _scaled(count: float, base: int, units: tuple[str, ...]) -> str:
    power = max(1, min(len(units), int(math.log(count, base))))
    return f"{count / base**power:.1f} {units[power - 1]}"
