"""The journal's lines of one start of a unit, copied into a file: it outlives the journal, and who looks at it again reads only what is new.

<state>/releases/<id>/log         output since the last start, log.1 of the start before
                      log.cursor  which start that is, and how far it was copied

A log is a courtesy: what cannot be copied stays away, and keeps no engine from being started or stopped.
"""

import contextlib
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from modelpivot.errors import PivotError, UsageError
from modelpivot.files import guarded, read_model, write_model
from modelpivot.host import boot_id, run_command
from modelpivot.models.frozen import Frozen

READ_S = 60.0
COPY_EVERY_S = 0.4
"""Seconds between two looks into the journal of an engine that lives."""
LEFT_ALONE_S = 30.0
"""Seconds that a journal which does not answer is left alone: every look may take `READ_S`."""
LINES = 50_000
"""Longest piece that is copied at once. An engine that served for weeks has more to tell than anybody reads: then the last ones are taken."""
ASK = ["journalctl", "--quiet", "--no-pager", "--all", "--output=cat", f"--lines={LINES}"]
CURSOR = "-- cursor: "


class Copied(Frozen):
    """How far a start was copied."""

    invocation_id: str
    cursor: str = ""


@dataclass(frozen=True)
class Start:
    """One start of a unit, as the journal tells its lines from others."""

    invocation_id: str
    unit: str = ""
    main_pid: int = 0
    """Number of its main process, the last one where it has ended; 0: not known."""

    @property
    def matches(self) -> list[str]:
        """For journalctl. The lines of a program that ended before the journal looked at it carry no invocation, only unit and process."""
        told = [f"_SYSTEMD_INVOCATION_ID={self.invocation_id}", "+", f"INVOCATION_ID={self.invocation_id}"]
        if not (self.unit and self.main_pid):
            return told
        return [*told, "+", f"_SYSTEMD_UNIT={self.unit}", f"_PID={self.main_pid}", f"_BOOT_ID={boot_id().replace('-', '')}"]


class JournalCopies:
    """Logs brought up to date from the journal, no more often than is worth it."""

    def __init__(self) -> None:
        self._not_before: dict[Path, float] = {}
        self._silent_until = 0.0

    def bring_up_to_date(self, start: Start, log: Path, *, is_over: bool) -> None:
        """The words of a start in its log, as far as journal and disk give them; nothing to do when that was done a moment ago."""
        now = time.monotonic()
        if now < self._silent_until or (now < self._not_before.get(log, 0.0) and not is_over):
            return
        self._not_before[log] = now + COPY_EVERY_S
        try:
            copy_journal(start, log, is_over=is_over)
        except (OSError, PivotError):
            self._silent_until = time.monotonic() + LEFT_ALONE_S


def read_last_words(start: Start) -> list[str]:
    """Of a start that failed; none when there was none, or the journal does not answer."""
    with contextlib.suppress(PivotError):
        return read_journal(start, is_over=True)[0].splitlines()[-10:] if start.invocation_id else []
    return []


def read_words_since(unit: str, at: float) -> list[str]:
    """What a unit's own processes have written since a moment, over all its starts: one that systemd starts again at once has its cause in an
    earlier one. None where the journal does not answer."""
    with contextlib.suppress(PivotError):
        run_command(["journalctl", "--sync"], timeout_s=READ_S, is_checked=False)
        return run_command([*ASK, f"--since=@{at:.6f}", f"_SYSTEMD_UNIT={unit}"], timeout_s=READ_S).stdout.splitlines()
    return []


def copy_journal(start: Start, log: Path, *, is_over: bool) -> None:
    """Bring `log` up to date with what a start has written. `is_over`: wait until the journal has the last words of a unit that ended."""
    cursor_file = log.with_name(f"{log.name}.cursor")
    with guarded(log.with_name(f"{log.name}.guard")):
        copied = _read_copied(cursor_file)
        if copied is None or copied.invocation_id != start.invocation_id:
            _set_aside(log)
            copied = Copied(invocation_id=start.invocation_id)
        text, cursor = read_journal(start, after=copied.cursor, is_over=is_over)
        if copied.cursor and text.count("\n") >= LINES:
            _set_aside(log)
            text, cursor = read_journal(start)
        with log.open("a") as file:
            file.write(text)
        if cursor != copied.cursor or not cursor_file.exists():
            write_model(cursor_file, Copied(invocation_id=start.invocation_id, cursor=cursor))


def read_journal(start: Start, *, after: str = "", is_over: bool = False) -> tuple[str, str]:
    """What a start has written since the cursor `after`, `LINES` at most, and the cursor to go on from. What systemd says of it is among it."""
    if is_over and shutil.which("journalctl"):
        run_command(["journalctl", "--sync"], timeout_s=READ_S, is_checked=False)
    place = [f"--after-cursor={after}"] if after else []
    text = run_command([*ASK, "--show-cursor", *place, *start.matches], timeout_s=READ_S).stdout
    head, found, cursor = text.rpartition(CURSOR)
    return (head, cursor.strip()) if found else (text, after)


def _read_copied(path: Path) -> Copied | None:
    try:
        return read_model(path, Copied)
    except UsageError:  # the log is begun anew
        return None


def _set_aside(log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))
    log.touch()
