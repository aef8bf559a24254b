"""Processes that run from an environment. Reads /proc."""

from pathlib import Path


def find_users(path: Path) -> list[int]:
    """Their ids: by command line, or by a library of the environment that they have mapped."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _runs_from(entry, f"{path}/")]


def _runs_from(process: Path, prefix: str) -> bool:
    try:
        return (process / "cmdline").read_bytes().startswith(prefix.encode()) or prefix in (process / "maps").read_text(errors="replace")
    except OSError:
        return False
