"""Packages that change, as a table."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modelpivot.models.packages import PackageChange

COLOURS = {"pass": "", "consent": "yellow", "block": "red"}


def show_packages(console: Console, changes: list[PackageChange]) -> None:
    """Nothing when none does."""
    if not changes:
        return
    rows = Table("package", "now", "then", "class", "policy", box=None, pad_edge=False, header_style="bold")
    for change in changes:
        said = "asked for" if change.is_asked and change.answer == "pass" else change.answer
        rows.add_row(change.name, change.before or "-", change.after or "-", ", ".join(change.classes), Text(said, COLOURS[change.answer]))
    console.print(rows)
