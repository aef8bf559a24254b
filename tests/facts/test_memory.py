"""Available memory is what the kernel calls available, in bytes."""

from pathlib import Path

from modelpivot.facts.memory import read_available_memory
from modelpivot.models.frozen import Unread


def test_available_memory_is_read_in_bytes(tmp_path: Path) -> None:
    """kB of the kernel are 1024 bytes; free and cached memory are other lines."""
    (tmp_path / "meminfo").write_text("MemTotal: 2000 kB\nMemFree:   10 kB\nMemAvailable:   1500 kB\nCached: 7 kB\n")
    assert read_available_memory(tmp_path / "meminfo") == 1500 * 1024


def test_a_kernel_that_does_not_say_is_unread(tmp_path: Path) -> None:
    """No line, no file: never a zero."""
    (tmp_path / "meminfo").write_text("MemTotal: 2000 kB\n")
    assert isinstance(read_available_memory(tmp_path / "meminfo"), Unread)
    assert isinstance(read_available_memory(tmp_path / "gone"), Unread)


def test_this_machine_has_memory() -> None:
    """The real file has the line."""
    found = read_available_memory()
    assert isinstance(found, int)
    assert found > 10**8
