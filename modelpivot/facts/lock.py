"""Locks and freezes as pins. Needs nothing.

    aiohttp==3.14.5 \\
        --hash=sha256:0133c3c3...
    transformers @ git+https://example.org/transformers@1f0cf8f0...
"""

import re

from modelpivot.models.engine import Pin
from modelpivot.models.names import canonical
from modelpivot.models.packages import Origin, Package

ENTRY = re.compile(r"^(?:-e )?(?P<line>(?P<name>[A-Za-z0-9._-]+)(?:==(?P<version>[^\s;\\]+)| @ (?P<url>\S+)))", re.MULTILINE)
YANKED = re.compile(r"`(?P<name>[A-Za-z0-9._-]+)==[^`]+` is yanked")
COMMIT = re.compile(r"@(?P<commit>[0-9a-f]{40})\b")


def parse_pins(lock_text: str) -> list[Pin]:
    """Name, exact version (or direct address) and whether a digest stands by it, of every package of a lock or freeze."""
    found = list(ENTRY.finditer(lock_text))
    ends = [entry.start() for entry in found[1:]] + [len(lock_text)]
    return [
        Pin(
            name=entry["name"],
            version=entry["version"] or entry["url"],
            is_hashed="--hash=" in lock_text[entry.end() : end] or "#sha256=" in (entry["url"] or ""),
        )
        for entry, end in zip(found, ends, strict=True)
    ]


def parse_yanked(said: str) -> list[str]:
    """Packages that uv warns of: their maker took the version back."""
    return sorted({canonical(found["name"]) for found in YANKED.finditer(said)})


def resolved_packages(pins: list[Pin], yanked: list[str]) -> list[Package]:
    """Pins as packages, by canonical name."""
    return [_package(pin, is_yanked=canonical(pin.name) in yanked) for pin in pins]


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
