"""What may go and what went, as a person reads it in a terminal."""

from rich.console import Console
from rich.text import Text

from modelpivot.cli.output import table
from modelpivot.models.counted import counted
from modelpivot.models.reclaim import Item, Reclaimed, ReclaimPlan
from modelpivot.models.size import say_bytes

SMALL_BYTES = 10_000_000
"""What stays and is smaller is counted, not listed."""


def show_room(console: Console, made: ReclaimPlan) -> None:
    """What may go, largest claims first within what one yes is enough for; then what stays, with the reason."""
    for warning in made.warnings:
        console.print(Text(f"! {warning}", "yellow"))
    _show_items(console, [item for item in made.items if item.ask == "yes"], title="may go")
    _show_items(console, [item for item in made.items if item.ask == "named"], title="may go, only by its id")
    _show_kept(console, made)
    if made.items:
        console.print(f"{say_bytes(made.offered_bytes)} could be freed, at least; what is freed is measured")
    else:
        console.print("Nothing may go.")


def _show_items(console: Console, items: list[Item], *, title: str) -> None:
    if not items:
        return
    rows = table(title, "frees", "costs")
    for item in items:
        name = item.id if item.ask == "named" else item.found.path
        rows.add_row(Text(f"{item.found.what}\n  {name}", overflow="fold"), _say_freed(item), Text(f"{item.found.costs}\n{item.why}"))
    console.print(rows)
    console.print()


def _say_freed(item: Item) -> str:
    freed, size = item.found.frees_bytes, item.found.size_bytes
    return say_bytes(freed) if freed == size else f"{say_bytes(freed)}\nof {say_bytes(size)}: the rest has other names"


def _show_kept(console: Console, made: ReclaimPlan) -> None:
    large = [kept for kept in made.kept if kept.size_bytes >= SMALL_BYTES]
    if large:
        rows = table("stays", "takes", "because")
        for kept in sorted(large, key=lambda kept: -kept.size_bytes):
            rows.add_row(Text(f"{kept.what}\n  {kept.path}", overflow="fold"), say_bytes(kept.size_bytes), Text(kept.why))
        console.print(rows)
    if small := len(made.kept) - len(large):
        console.print(Text(f"{small} small things stay as well (--json has each with its reason)", "dim"))
    if made.kept:
        console.print()


def show_reclaimed(console: Console, done: Reclaimed) -> None:
    """Each thing, promised and measured."""
    if not done.items:
        only = counted(len(done.left), "thing goes only by its id", "things go only by their id")
        console.print(f"Nothing went; {only} (--agree ID)." if done.left else "Nothing went.")
        return
    rows = table("", "promised", "measured free")
    for gone in done.items:
        mark = Text("✗ ", "red") if gone.problem else Text("✓ ", "green")
        what = Text.assemble(mark, f"{gone.what}\n  {gone.path}", (f"\n  {gone.problem}" if gone.problem else "", "red"), overflow="fold")
        rows.add_row(what, say_bytes(gone.promised_bytes), say_bytes(max(0, gone.freed_bytes)))
    console.print(rows)
    console.print(f"{say_bytes(max(0, done.freed_bytes))} measured free, {say_bytes(done.promised_bytes)} promised")
