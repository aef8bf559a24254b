"""A run on the terminal: a bar while a stage works, below it the files that are under way, a line when it has ended, every warning once. Without a
terminal: lines only."""

from collections.abc import Iterable, Sequence
from types import TracebackType

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from modelpivot.cli.output import in_time
from modelpivot.models.event import Event
from modelpivot.models.in_flight import InFlight, read_in_flight
from modelpivot.models.size import say_bytes

MARKS = {"finished": ("✓", "green"), "nothing_to_do": ("=", "green"), "failed": ("✗", "red"), "warning": ("!", "yellow")}
ASKS = ("?", "yellow")
"""Of a run that ends with a question: nothing went wrong."""


class Bars(Progress):
    """The bars, and a line for each file in flight."""

    files: tuple[Sequence[InFlight], int] = ((), 0)
    """Those that are shown, and how many more there are."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """What is drawn, again and again."""
        yield from super().get_renderables()
        shown, more = self.files
        if shown:
            yield files_table(shown)
        if more:
            yield Text(f"  and {more} more", "dim")


class Screen:
    """Shows events as they come; a context manager."""

    def __init__(self, console: Console, *, is_quiet: bool = False) -> None:
        self._console, self._is_quiet = console, is_quiet
        self._progress = Bars(
            SpinnerColumn(),
            TextColumn("{task.description:<14}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._started: dict[str, float] = {}
        self._warned: set[str] = set()

    def __enter__(self) -> "Screen":
        if not self._is_quiet and self._console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if event.kind == "started":
            self._begin(event)
        elif event.kind == "progress":
            self._advance(event)
        elif event.kind in MARKS:
            self._end(event)
        elif event.kind == "log":
            self._note(event)

    def _begin(self, event: Event) -> None:
        self._started[event.stage] = event.at
        if event.stage not in self._tasks:
            self._tasks[event.stage] = self._progress.add_task(event.stage, total=None, note=event.message)

    def _advance(self, event: Event) -> None:
        if event.stage not in self._tasks:
            self._begin(event)
        done, total = event.data.get("done"), event.data.get("total")
        self._progress.update(
            self._tasks[event.stage],
            completed=done if isinstance(done, int | float) else 0,
            total=total if isinstance(total, int | float) else None,
            note=progress_note(event),
        )
        if "files" in event.data:
            self._progress.files = read_in_flight(event)

    def _note(self, event: Event) -> None:
        if event.stage in self._tasks:
            self._progress.update(self._tasks[event.stage], note=event.message[:80])

    def _end(self, event: Event) -> None:
        if event.kind == "warning":
            if event.message in self._warned:
                return
            self._warned.add(event.message)
        elif event.stage in self._tasks:
            self._progress.remove_task(self._tasks.pop(event.stage))
            self._progress.files = ((), 0)
        self._print(event)

    def _print(self, event: Event) -> None:
        if self._is_quiet:
            return
        mark, colour = ASKS if event.data.get("asks") else MARKS[event.kind]
        line = Text.assemble((mark, colour), f" {event.stage:<14} ", (f"{self._seconds(event):>12}  ", "dim"), event.message)
        self._console.print(line, soft_wrap=True)

    def _seconds(self, event: Event) -> str:
        seconds = event.data.get("seconds")
        if isinstance(seconds, int | float):
            return in_time(seconds)
        started = None if event.kind == "warning" else self._started.pop(event.stage, None)
        return in_time(max(0.0, event.at - started)) if started else ""


def files_table(files: Sequence[InFlight]) -> Table:
    """`1.0 GB (953.7 MiB)  of 4.5 GB (4.2 GiB)  model-00001-of-00119.safetensors`, a line for each."""
    rows = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "left"):
        rows.add_column(justify=justify, no_wrap=True)
    for file in files:
        rows.add_row("", say_bytes(file.done_bytes), f"of {say_bytes(file.size_bytes)}", Text(file.path, overflow="ellipsis"), style="dim")
    return rows


def progress_note(event: Event) -> str:
    """`12 min 03 s left, 98.0 MB/s, 312.0 MB (297.5 MiB) of ...`, or what the stage says itself; a narrow terminal cuts its end."""
    done, total, rate, left_s = (event.data.get(name) for name in ("done", "total", "rate", "eta_s"))
    if event.data.get("unit") != "B" or not isinstance(done, int | float):
        return event.message[:80]
    parts = [f"{in_time(left_s)} left"] if isinstance(left_s, int | float) else []
    parts += [f"{rate / 1e6:.1f} MB/s"] if isinstance(rate, int | float) and rate > 0 else []
    of_total = f" of {say_bytes(total)}" if isinstance(total, int | float) else ""
    return ", ".join([*parts, f"{say_bytes(done)}{of_total}"])
