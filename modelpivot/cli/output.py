"""How commands answer: one JSON object on standard output, or something for a person; logs go to standard error."""

import math
import sys
from typing import Annotated

import typer
from pydantic import BaseModel
from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, logs on standard error.")]


def answer(model: BaseModel) -> None:
    """Print a model as one line of JSON."""
    sys.stdout.write(model.model_dump_json() + "\n")
    sys.stdout.flush()


def console() -> Console:
    """For answers to a person: standard output."""
    return Console(highlight=False, soft_wrap=True)


def log_console() -> Console:
    """For progress and logs: standard error."""
    return Console(stderr=True, highlight=False)


def in_bytes(count: float) -> str:
    """Both units that people use, as vendors and systems mix them: `540.0 GB (502.9 GiB)`."""
    if count < 1000:
        return f"{count:.0f} B"
    return f"{_scaled(count, 1000, ('kB', 'MB', 'GB', 'TB'))} ({_scaled(count, 1024, ('KiB', 'MiB', 'GiB', 'TiB'))})"


def _scaled(count: float, base: int, units: tuple[str, ...]) -> str:
    power = max(1, min(len(units), int(math.log(count, base))))
    return f"{count / base**power:.1f} {units[power - 1]}"


def in_time(seconds: float) -> str:
    """`3.2 s`, `4 min 10 s`, `2 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"
