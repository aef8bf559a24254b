"""The log of a unit where the journal or what is remembered of it is no good; journalctl is a fake, called one."""

import os
from pathlib import Path

import pytest

from modelpivot.supervisors.invocation import Invocation, read_invocation
from modelpivot.supervisors.unit_log import JournalCopies, Start, read_last_words

START = Start("a" * 32)


def fake_journal(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A journalctl that runs this, first on the PATH; the file that has a line for every time it was asked."""
    asked, tool = folder / "asked", folder / "bin" / "journalctl"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho >> {asked}\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    return asked


def test_a_start_is_told_by_its_process_too_where_that_is_known() -> None:
    """Of this boot alone: numbers of processes come again."""
    assert Start("a", "x.service", 7).matches[-3:-1] == ["_SYSTEMD_UNIT=x.service", "_PID=7"]
    assert Start("a", "x.service", 7).matches[-1].startswith("_BOOT_ID=")
    assert Start("a", "x.service").matches == Start("a").matches == ["_SYSTEMD_INVOCATION_ID=a", "+", "INVOCATION_ID=a"]


def test_a_journal_that_fails_is_no_failure_of_the_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised, there are no words, and it is left alone for a while: it may take a minute every time."""
    asked, copies = fake_journal(tmp_path, monkeypatch, "exit 1"), JournalCopies()
    for _ in range(5):
        copies.bring_up_to_date(START, tmp_path / "log", is_over=False)
    assert asked.read_text() == "\n"
    assert read_last_words(START) == []


@pytest.mark.parametrize("spoiled", [b"{garbage", b"\xff\xfe", b"", b'{"invocation_id": 7}'])
def test_a_spoiled_cursor_begins_the_log_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoiled: bytes) -> None:
    """The log has every line of the start again, and the next look goes on from there."""
    fake_journal(tmp_path, monkeypatch, "echo loading; echo '-- cursor: s=1'")
    log, cursor = tmp_path / "log", tmp_path / "log.cursor"
    log.write_text("earlier\n")
    cursor.write_bytes(spoiled)
    JournalCopies().bring_up_to_date(START, log, is_over=False)
    assert (log.read_text(), log.with_name("log.1").read_text()) == ("loading\n", "earlier\n")
    assert '"s=1"' in cursor.read_text()


@pytest.mark.parametrize("spoiled", [b"{garbage", b"\xff\xfe", b'{"known": [{"pid": "x"}]}'])
def test_a_spoiled_memory_of_a_start_is_none(tmp_path: Path, spoiled: bytes) -> None:
    """Nothing is remembered, and the file is kept beside."""
    path = tmp_path / "invocation.json"
    path.write_bytes(spoiled)
    assert read_invocation(path) == Invocation()
    assert not path.exists() and path.with_suffix(".unreadable").read_bytes() == spoiled
