"""Patched files as a person reads them in a terminal: name, digests, what differs."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from modelpivot.models.patched import PatchedFile


def show_patched(console: Console, files: Sequence[PatchedFile]) -> None:
    """Nothing for none."""
    for file in files:
        console.print(Text(f"{file.file}  {file.before[:12]} -> {file.after[:12]}", "bold"))
        for line in file.diff:
            console.print(Text(line, "red" if line.startswith("-") else "green"))
