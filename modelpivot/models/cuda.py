"""CUDA as drivers offer it and wheels ask for it. Pure.

A driver offers one newest CUDA and runs everything built for the same major (minor-version compatibility) or an older one.
"""

import re
from collections.abc import Sequence

from modelpivot.models.engine import Pin
from modelpivot.models.names import canonical

Version = tuple[int, int]
DRIVERS: tuple[tuple[Version, Version], ...] = (
    ((590, 44), (13, 1)),
    ((580, 65), (13, 0)),
    ((575, 51), (12, 9)),
    ((570, 26), (12, 8)),
    ((565, 57), (12, 7)),
    ((560, 28), (12, 6)),
    ((555, 42), (12, 5)),
    ((550, 54), (12, 4)),
    ((525, 60), (12, 0)),
    ((450, 80), (11, 0)),
)
"""First Linux driver of each CUDA, newest first, from the vendor's release notes."""
BACKENDS: tuple[Version, ...] = ((13, 0), (12, 9), (12, 8), (12, 6), (11, 8))
"""Those that uv's `--torch-backend` names and PyTorch still publishes for, newest first."""
RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu(?P<major>1[1-9]))?$")
LOCAL = re.compile(r"\+(?:.*\.)?cu(?P<digits>1[1-9][0-9])")


def driver_cuda(driver: str) -> Version | None:
    """The newest CUDA that a driver (`590.48.01`) offers; None: not known."""
    found = re.match(r"(\d+)\.(\d+)", driver)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return next((cuda for first, cuda in DRIVERS if version >= first), None)


def parse_cuda(text: str) -> Version | None:
    """`13.1` as numbers; None: no version."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def backend_for(offered: Version) -> str | None:
    """uv's `--torch-backend` for a driver: the newest that it offers, or one of its major; None: the driver is too old for all."""
    fits = next((cuda for cuda in BACKENDS if cuda <= offered), None)
    return f"cu{fits[0]}{fits[1]}" if fits else None


def wanted_cuda(pins: Sequence[Pin]) -> Version | None:
    """The CUDA that a resolution is built for: torch's `+cu129`, else the CUDA runtime that comes along; None: none of them."""
    versions = {canonical(pin.name): pin.version for pin in pins}
    if found := LOCAL.search(versions.get("torch", "")):
        return int(found["digits"][:2]), int(found["digits"][2:])
    runtimes = [parse_cuda(version) for name, version in versions.items() if RUNTIME.match(name)]
    return max((cuda for cuda in runtimes if cuda), default=None)


def is_cpu_build(pins: Sequence[Pin]) -> bool:
    """Whether torch is the build without CUDA."""
    return any(canonical(pin.name) == "torch" and pin.version.endswith("+cpu") for pin in pins)
