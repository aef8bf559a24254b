"""How commands answer: one JSON object on standard output, or something for a person; logs go to standard error."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, logs on standard error.")]


def answer(model: BaseModel) -> None:
    """Print a model as one line of JSON."""
    sys.stdout.write(model.model_dump_json() + "\n")
    sys.stdout.flush()


def console() -> "Console":
    """For answers to a person: standard output."""
    from modelpivot.cli.plain_console import PlainConsole

    return PlainConsole(soft_wrap=True)


def log_console() -> "Console":
    """For progress and logs: standard error."""
    from modelpivot.cli.plain_console import PlainConsole

    return PlainConsole(stderr=True)


def in_time(seconds: float) -> str:
    """`3.2 s`, `4 min 10 s`, `2 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def table(*columns: str) -> "Table":
    """The one look of tables."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column)
    return made
