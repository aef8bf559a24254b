"""What we ask of an engine ourselves is counted exactly, while several processes ask and one reads."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

from modelpivot.state.asked import ask_counted, counted_exactly

PROJECT = Path(__file__).parents[2]
ASKER = """
import sys
from pathlib import Path
from modelpivot.state.asked import ask_counted
def ask():
    print("asking", flush=True)
    sys.stdin.readline()
    return ""
ask_counted(Path(sys.argv[1]), ask)
"""


def count(path: Path, timeout_s: float = 5.0) -> int:
    """The count now."""
    with counted_exactly(path, timeout_s=timeout_s) as number:
        return number


def test_answered_requests_are_counted_and_others_are_not(tmp_path: Path) -> None:
    """A request that got no answer reached nobody, or is told by the engine as aborted."""
    path = tmp_path / "asked"
    assert ask_counted(path, lambda: "") == ""
    assert ask_counted(path, lambda: "connection refused") == "connection refused"
    assert count(path) == 1


def test_a_request_under_way_is_waited_for(tmp_path: Path) -> None:
    """It counts on one side of the reading, never on neither: the reader waits until another process has its answer."""
    path = tmp_path / "asked"
    asker = subprocess.Popen([sys.executable, "-c", ASKER, str(path)], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert asker.stdin is not None
    assert asker.stdout is not None
    assert asker.stdout.readline() == b"asking\n"
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.append(count(path, timeout_s=30)))
    reader.start()
    assert found == []
    asker.communicate(b"\n")
    reader.join()
    assert found == [1]


def test_nobody_asks_while_the_count_is_read(tmp_path: Path) -> None:
    """A request that comes meanwhile waits, and counts after the reading."""
    path = tmp_path / "asked"
    with counted_exactly(path, timeout_s=5) as before:
        late = threading.Thread(target=ask_counted, args=(path, lambda: ""))
        late.start()
        assert (before, path.stat().st_size) == (0, 0)
    late.join()
    assert count(path) == 1


def test_a_request_that_hangs_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    """The reading goes on without it."""
    path, is_asking, is_over = tmp_path / "asked", threading.Event(), threading.Event()

    def ask() -> str:
        is_asking.set()
        return str(is_over.wait())

    hanging = threading.Thread(target=ask_counted, args=(path, ask))
    hanging.start()
    is_asking.wait()
    assert count(path, timeout_s=0.2) == 0
    is_over.set()
    hanging.join()


def test_a_count_that_cannot_be_written_stops_no_request(tmp_path: Path) -> None:
    """The folder is not there: the request is asked all the same."""
    assert ask_counted(tmp_path / "nowhere" / "asked", lambda: "") == ""


def test_a_gate_that_cannot_be_passed_stops_no_request(tmp_path: Path) -> None:
    """A folder lies where the gate should: the request is asked all the same, uncounted, and no descriptor is left open."""
    path = tmp_path / "asked"
    (tmp_path / "asked.gate").mkdir()
    assert ask_counted(path, lambda: "") == ""
    assert path.stat().st_size == 0
    assert not [place for place in open_places() if place.is_relative_to(tmp_path)]


def open_places() -> list[Path]:
    """What this process has open; what another thread closes meanwhile is left out."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(link.readlink())
    return found
