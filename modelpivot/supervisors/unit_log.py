"""The journal's lines of one start of a unit, copied into a file: it outlives the journal, and who looks at it again reads only what is new.

<state>/releases/<id>/log         output since the last start, log.1 of the start before
                      log.cursor  which start that is, and how far it was copied
"""

import shutil
from pathlib import Path

from modelpivot.files import guarded, read_model, write_model
from modelpivot.host import run_command
from modelpivot.models.frozen import Frozen

READ_S = 60.0
LINES = 50_000
"""Longest piece that is copied at once. An engine that served for weeks has more to tell than anybody reads: then the last ones are taken."""
CURSOR = "-- cursor: "


class Copied(Frozen):
    """How far a start was copied."""

    invocation_id: str
    cursor: str = ""


def copy_journal(invocation_id: str, log: Path, *, is_over: bool) -> None:
    """Bring `log` up to date with what a start has written. `is_over`: wait until the journal has the last words of a unit that ended."""
    cursor_file = log.with_name(f"{log.name}.cursor")
    with guarded(log.with_name(f"{log.name}.guard")):
        copied = read_model(cursor_file, Copied)
        if copied is None or copied.invocation_id != invocation_id:
            _set_aside(log)
            copied = Copied(invocation_id=invocation_id)
        text, cursor = read_journal(invocation_id, after=copied.cursor, is_over=is_over)
        if copied.cursor and text.count("\n") >= LINES:
            _set_aside(log)
            text, cursor = read_journal(invocation_id)
        with log.open("a") as file:
            file.write(text)
        if cursor != copied.cursor or not cursor_file.exists():
            write_model(cursor_file, Copied(invocation_id=invocation_id, cursor=cursor))


def read_journal(invocation_id: str, *, after: str = "", is_over: bool = False) -> tuple[str, str]:
    """What a start has written since the cursor `after`, `LINES` at most, and the cursor to go on from. What systemd says of it is among it."""
    if is_over and shutil.which("journalctl"):
        run_command(["journalctl", "--sync"], timeout_s=READ_S, is_checked=False)
    matches = [f"_SYSTEMD_INVOCATION_ID={invocation_id}", "+", f"INVOCATION_ID={invocation_id}"]
    place = [f"--after-cursor={after}"] if after else []
    argv = ["journalctl", "--quiet", "--no-pager", "--all", "--output=cat", "--show-cursor", f"--lines={LINES}", *place, *matches]
    text = run_command(argv, timeout_s=READ_S).stdout
    head, found, cursor = text.rpartition(CURSOR)
    return (head, cursor.strip()) if found else (text, after)


def _set_aside(log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))
    log.touch()
