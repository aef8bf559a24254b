"""What may go and what a clean slate would take, as Prefect shows it. Pure."""

from collections.abc import Iterator, Sequence

from modelpivot.models.cleanup import CleanupPlan
from modelpivot.models.reclaim import Item, ReclaimPlan
from modelpivot.models.size import say_bytes

MOST_ROWS = 50


def room_markdown(made: ReclaimPlan) -> str:
    """What may go with one yes, what only by its id, and what stays."""
    lines = [f"- {warning}" for warning in made.warnings]
    lines += _table("May go", [item for item in made.items if item.ask == "yes"])
    lines += _table("May go, only by its id", [item for item in made.items if item.ask == "named"])
    if made.kept:
        lines += ["", "### Stays", "", "| what | takes | because |", "|---|---|---|"]
        lines += _limited([f"| {_cell(kept.what)} | {say_bytes(kept.size_bytes)} | {_cell(kept.why)} |" for kept in made.kept])
    end = f"**{say_bytes(made.offered_bytes)}** could be freed, at least." if made.items else "Nothing may go."
    return "\n".join([*lines, "", end])


def cleanup_markdown(made: CleanupPlan) -> str:
    """What serves, what stops, what stands in the way; then what may go."""
    lines = [f"- **{blocker.code}** {blocker}" for blocker in made.blockers]
    lines += [f"- {warning}" for warning in made.warnings]
    lines += ["", "| serves | | stops |", "|---|---|---|"] if made.serving else ["", "Nothing serves."]
    lines += [f"| {_cell(each.name)} | {_cell(each.found)} | {'yes, by name' if each.is_to_stop else 'no'} |" for each in made.serving]
    lines += [f"- still busy then: {line}" for line in made.busy]
    return "\n".join([*lines, "", room_markdown(made.reclaim)])


def _table(title: str, items: Sequence[Item]) -> Iterator[str]:
    if items:
        yield from ("", f"### {title}", "", "| id | what | frees | costs |", "|---|---|---|---|")
        yield from _limited([_row(item) for item in items])


def _row(item: Item) -> str:
    found = item.found
    return f"| `{_cell(item.id)}` | {_cell(found.what)} | {say_bytes(found.frees_bytes)} | {_cell(found.costs)}; {_cell(item.why)} |"


def _limited(rows: Sequence[str]) -> list[str]:
    more = [f"| ... and {len(rows) - MOST_ROWS} more | | |"] if len(rows) > MOST_ROWS else []
    return [*rows[:MOST_ROWS], *more]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")
