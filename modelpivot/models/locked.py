"""Pins of a lock as packages: where each comes from, and its version. Pure."""

import re
from collections.abc import Iterable

from modelpivot.models.engine import Pin
from modelpivot.models.names import canonical
from modelpivot.models.packages import Origin, Package

COMMIT = re.compile(r"@(?P<commit>[0-9a-f]{40})\b")


def resolved_packages(pins: Iterable[Pin], yanked: Iterable[str] = ()) -> list[Package]:
    """Pins as packages, by canonical name."""
    taken_back = frozenset(yanked)
    return [_package(pin, is_yanked=canonical(pin.name) in taken_back) for pin in pins]


def _package(pin: Pin, *, is_yanked: bool) -> Package:
    commit = COMMIT.search(pin.version) if pin.version.startswith("git+") else None
    return Package(
        name=canonical(pin.name),
        version=wheel_version(pin.version) if "://" in pin.version else pin.version,
        origin=origin_of(pin.version),
        commit=commit["commit"] if commit else "",
        is_hashed=pin.is_hashed,
        is_yanked=is_yanked,
    )


def origin_of(version: str) -> Origin:
    """Where a pin comes from: an exact version from an index, an address from git, a folder or anywhere."""
    if version.startswith("git+"):
        return "git"
    if "://" not in version:
        return "index"
    return "address" if version.endswith((".whl", ".tar.gz", ".zip")) or "#" in version else "folder"


def wheel_version(address: str) -> str:
    """The version in a wheel's file name; the address itself where it has none."""
    name = address.partition("#")[0].rpartition("/")[2]
    return name.split("-")[1].replace("%2B", "+") if name.endswith(".whl") and name.count("-") >= 4 else address


def requirement_name(line: str) -> str:
    """The name that a requirement (PEP 508) begins with; empty: it begins with none."""
    found = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", line)
    return found[1] if found else ""
