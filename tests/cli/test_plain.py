"""What others wrote commands no terminal and no page: not a file's name, not an engine's line, not a description from the Hub."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from modelpivot.cli.output import console
from modelpivot.cli.screen import Screen
from modelpivot.models.event import Event
from modelpivot.models.spelled import plain
from tests.cli.test_hostile_words import run

EVIL = "a\x1b[2J\x1b]0;title\x07b\x9b31mc\u202ed"
SHOWN = "ab\ufffd31mc\ufffdd"
COMMANDS = ("\x1b[2J", "\x1b]0", "\x9b", "\u202e")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines\tand é 模 \U0001f600", "two\nlines\tand é 模 \U0001f600"),
        (EVIL, SHOWN),
        ("\x1b[36m(EngineCore pid=1)\x1b[0m loads", "(EngineCore pid=1) loads"),
        ("\x1b[\x1b[0m31mred", "\ufffd[31mred"),
        ("50 %\r100 %", "50 %\ufffd100 %"),
        ("\x1b", "\ufffd"),
    ],
)
def test_words_stay_and_commands_go(text: str, shown: str) -> None:
    """Newlines, tabs and every script stay; colours go without a trace, what is left of a command is seen as such."""
    assert plain(text) == shown and plain(shown) == shown


def on_a_terminal(shown: Console) -> io.StringIO:
    """The console writes colours into this."""
    shown.file = out = io.StringIO()
    shown._force_terminal, shown._color_system, shown.no_color = True, 1, False  # type: ignore[assignment]
    return out


def test_all_that_is_printed_is_plain() -> None:
    """Words, tables, panels; our own colours pass, and brackets are no markup."""
    shown = console()
    out = on_a_terminal(shown)
    rows = Table(EVIL)
    rows.add_row(Text(EVIL, "red"))
    shown.print(EVIL, rows, Panel(f"[/x] [red]{EVIL}"), style="green")
    said = out.getvalue()
    assert "\x1b[32m" in said and "[/x] [red]" in said
    assert not any(command in said for command in COMMANDS)


def test_a_bar_is_plain() -> None:
    """Its name and its note come from others too, and a bracket in them ends nothing."""
    shown = console()
    out = on_a_terminal(shown)
    with Screen(shown) as screen:
        screen(Event(at=0, stage=f"s{EVIL}", kind="started", message=EVIL))
        screen(Event(at=0, stage=f"s{EVIL}", kind="progress", message=f"[/x]{EVIL}", data={"done": 1, "total": 2}))
    assert "[/x]a" in out.getvalue() and not any(command in out.getvalue() for command in COMMANDS)


def test_a_file_cannot_repaint_the_verdict(tmp_path: Path) -> None:
    """Through the real command: the name of a stray file is shown, and does not clear the screen."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "config.json").write_text("{}")
    (there / "x\x1b[2J\x1b[31mcomplete.safetensors").write_bytes(b"x")
    manifest = {"repo": "a/b", "commit": "0" * 40, "files": [{"path": "config.json", "size": 2, "sha256": None, "git_oid": None}]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    done = run(tmp_path, "verify", "there", "--manifest", "manifest.json")
    assert done.returncode == 1 and "complete.safetensors" in done.stdout and "\x1b" not in done.stdout + done.stderr


def test_an_error_cannot_either(tmp_path: Path) -> None:
    """Its sentence quotes what somebody wrote."""
    done = run(tmp_path, "verify", "not\x1b[2Jthere", "--manifest", "gone\x1b[2J.json")
    assert done.returncode == 2 and "notthere" in done.stderr and "\x1b" not in done.stdout + done.stderr
