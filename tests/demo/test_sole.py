"""One demo a folder, and `--stop` ends one that still runs: real processes, no engine."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.demo.places import DemoPlaces
from modelpivot.demo.services import remember
from modelpivot.demo.sole import read_demo_process, sole_demo
from modelpivot.demo.stopping import leads_group, stop_demo
from modelpivot.errors import HostHeld
from modelpivot.files import write_model
from modelpivot.host import read_process_id
from modelpivot.state.paths import StatePaths

HOLDS = """
import sys
from pathlib import Path
from modelpivot.demo.places import DemoPlaces
from modelpivot.demo.sole import sole_demo
with sole_demo(DemoPlaces(Path(sys.argv[1]))):
    print("holds", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the demo's folder."""
    argv = [sys.executable, "-c", HOLDS, str(tmp_path)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "holds\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_demo_is_told_who_holds_the_folder(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    """HostHeld, exit 7, with the process of the first."""
    with pytest.raises(HostHeld, match=f"process {other.pid}") as held, sole_demo(DemoPlaces(tmp_path)):
        pass
    assert held.value.exit_code == 7


def test_a_demo_that_was_killed_holds_nothing(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    """After SIGKILL the next demo has the folder at once."""
    other.kill()
    other.wait()
    assert read_demo_process(DemoPlaces(tmp_path)) is None
    with sole_demo(DemoPlaces(tmp_path)):
        pass


def test_stop_ends_a_demo_that_runs_and_its_flow(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    """Command and flow go first, or they would start again what is ended."""
    places = DemoPlaces(tmp_path)
    remember(places)
    flow = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    owner = read_process_id(flow.pid)
    assert owner is not None
    write_model(StatePaths(tmp_path / "state").run("20261130-120000-demo-0000").owner, owner)
    ended = stop_demo(places)
    assert ended == [f"the demo that ran (process {other.pid})", "run 20261130-120000-demo-0000"]
    assert (other.wait(5), flow.wait(5)) == (-15, -15)


def test_a_flow_that_ends_meanwhile_is_none_to_end() -> None:
    """Between the look whether it lives and the look at its group it may go: no error, and nothing of somebody else is ended for it."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as flow:
        assert leads_group(flow.pid)
        flow.communicate(b"\n")
    assert not leads_group(flow.pid)
