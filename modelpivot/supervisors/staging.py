"""Staging beside a running model: its processes in a slice of low weight. Needs root and systemd; without them they run as they are.

The weights act where the kernel has the controllers cpu, io and memory in its unified hierarchy.
"""

from collections.abc import Sequence

from modelpivot.errors import PivotError
from modelpivot.supervisors.systemctl import is_systemd_here
from modelpivot.supervisors.unit_files import place_unit
from modelpivot.supervisors.unit_text import TEMPLATES

SLICE = "modelpivot-staging.slice"


def staging_words(argv: Sequence[str]) -> list[str]:
    """The command that runs `argv` in the slice, with the same process number, descriptors and group.

    `argv` itself where there is no systemd, or the slice cannot be put in place: a low weight is a courtesy and no condition.
    """
    if not is_systemd_here():
        return list(argv)
    try:
        place_unit(SLICE, (TEMPLATES / "staging.slice").read_text())
    except (PivotError, OSError):
        return list(argv)
    return ["systemd-run", "--scope", "--quiet", "--collect", f"--slice={SLICE}", "--", *argv]
