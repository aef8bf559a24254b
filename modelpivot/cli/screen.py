"""A run on the terminal: a bar while a stage works, a line when it has ended, every warning once. Without a terminal: lines only."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from modelpivot.cli.output import in_time
from modelpivot.models.event import Event
from modelpivot.models.size import say_bytes

MARKS = {"finished": ("✓", "green"), "nothing_to_do": ("=", "green"), "failed": ("✗", "red"), "warning": ("!", "yellow")}


class Screen:
    """Shows events as they come; a context manager."""

    def __init__(self, console: Console, *, is_quiet: bool = False) -> None:
        self._console, self._is_quiet = console, is_quiet
        self._progress = Progress(
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
        self._print(event)

    def _print(self, event: Event) -> None:
        if self._is_quiet:
            return
        mark, colour = MARKS[event.kind]
        line = Text.assemble((mark, colour), f" {event.stage:<14} ", (f"{self._seconds(event):>12}  ", "dim"), event.message)
        self._console.print(line, soft_wrap=True)

    def _seconds(self, event: Event) -> str:
        seconds = event.data.get("seconds")
        if isinstance(seconds, int | float):
            return in_time(seconds)
        started = None if event.kind == "warning" else self._started.pop(event.stage, None)
        return in_time(max(0.0, event.at - started)) if started else ""


def progress_note(event: Event) -> str:
    """`312.0 MB (297.5 MiB) of ... at 98.0 MB/s`, or what the stage says itself."""
    done, total, rate = (event.data.get(name) for name in ("done", "total", "rate"))
    if event.data.get("unit") != "B" or not isinstance(done, int | float):
        return event.message[:80]
    parts = [say_bytes(done)]
    if isinstance(total, int | float):
        parts.append(f"of {say_bytes(total)}")
    if isinstance(rate, int | float) and rate > 0:
        parts.append(f"at {rate / 1e6:.1f} MB/s")
    return " ".join(parts)
