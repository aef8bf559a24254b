"""The commands we need, found or named as missing."""

from pathlib import Path

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.facts.tools import find_uv, read_tools, uv_folders
from modelpivot.models.facts import Tool
from modelpivot.models.frozen import Unread


def fake_command(folder: Path, name: str, script: str) -> Path:
    """A fake: a shell script under a tool's name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_real_uv_is_found_with_its_version() -> None:
    """uv is on this machine, and says which."""
    uv = read_tools()["uv"]
    assert isinstance(uv, Tool)
    assert uv.path == find_uv()
    assert uv.version.split()[0].count(".") == 2


def test_a_named_uv_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MODELPIVOT_UV stands before the PATH."""
    named = fake_command(tmp_path / "named", "uv", "true")
    monkeypatch.setenv("PATH", str(fake_command(tmp_path / "path", "uv", "true").parent))
    monkeypatch.setenv("MODELPIVOT_UV", str(named))
    assert find_uv() == named


def test_a_named_uv_that_cannot_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typing error in MODELPIVOT_UV is said, not passed over."""
    monkeypatch.setenv("MODELPIVOT_UV", str(tmp_path / "uv"))
    with pytest.raises(PreconditionError, match=r"MODELPIVOT_UV=.*expected a command that can be run"):
        find_uv()
    assert isinstance(read_tools()["uv"], Unread)


def test_uv_is_looked_for_beside_our_interpreter_and_in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The PATH, then the interpreter's folder, then .tools/bin of the project; the first that has it wins."""
    monkeypatch.delenv("MODELPIVOT_UV", raising=False)
    folders = uv_folders("/a:/b", Path("/venv/bin/python"), tmp_path)
    assert folders == ["/a", "/b", "/venv/bin", str(tmp_path / ".tools/bin")]
    in_project = fake_command(tmp_path / ".tools" / "bin", "uv", "true")
    assert find_uv([str(tmp_path / "empty"), folders[-1]]) == in_project
    earlier = fake_command(tmp_path / "earlier", "uv", "true")
    assert find_uv([str(earlier.parent), folders[-1]]) == earlier


def test_no_uv_says_where_it_was_looked_for_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without uv gets the next move."""
    monkeypatch.delenv("MODELPIVOT_UV", raising=False)
    with pytest.raises(PreconditionError, match="not installed") as caught:
        find_uv([str(tmp_path)])
    assert str(tmp_path) in caught.value.message
    assert "make setup" in caught.value.hint


def test_a_tool_that_fails_is_unread_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that does not match its library: the message is kept."""
    words = "Failed to initialize NVML: Driver/library version mismatch"
    fake = fake_command(tmp_path, "nvidia-smi", f"echo '{words}'; exit 18")
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    found = read_tools()["nvidia-smi"]
    assert isinstance(found, Unread)
    assert words in found.unread


def test_a_tool_tells_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first line of what it says."""
    fake = fake_command(tmp_path, "nvidia-smi", "echo 'NVIDIA-SMI version  : 590.48.01'; echo 'NVML version : 590.48'")
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    assert read_tools()["nvidia-smi"] == Tool(path=fake, version="NVIDIA-SMI version  : 590.48.01")
