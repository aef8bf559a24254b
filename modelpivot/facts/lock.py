"""Locks and freezes as pins. Needs nothing.

    aiohttp==3.14.5 \\
        --hash=sha256:0133c3c3...
    transformers @ git+https://example.org/transformers@1f0cf8f0...
"""

import re

from modelpivot.models.engine import Pin
from modelpivot.models.names import canonical

ENTRY = re.compile(r"^(?:-e )?(?P<line>(?P<name>[A-Za-z0-9._-]+)(?:==(?P<version>[^\s;\\]+)| @ (?P<url>\S+)))", re.MULTILINE)
YANKED = re.compile(r"`(?P<name>[A-Za-z0-9._-]+)==[^`]+` is yanked")


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
