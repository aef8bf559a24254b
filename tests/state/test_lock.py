"""One lock per host: held by a process that is told from every other one, handed over by its token."""

import subprocess
import sys

import pytest

from modelpivot.errors import HostHeld
from modelpivot.files import write_model
from modelpivot.host import own_process_id, read_process_id
from modelpivot.models.cutover import ProcessId
from modelpivot.state.lock import Lock, acquire_lock, read_lock, release_lock, take_over_lock
from modelpivot.state.paths import StatePaths


def _hold(state: StatePaths, holder: ProcessId) -> None:
    write_model(state.lock, Lock(holder=holder, token="theirs", run_id="theirs", what="run theirs"))


def _other() -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)


def test_held_once(state: StatePaths) -> None:
    """The holder may take it again and keeps its token; letting go frees the host."""
    first = acquire_lock(state, run_id="run", what="run")
    assert acquire_lock(state, run_id="run", what="run").token == first.token
    release_lock(state)
    assert read_lock(state) is None


def test_living_holder_is_named(state: StatePaths) -> None:
    """A lock of another living process is refused with its name and number."""
    with _other() as other:
        holder = read_process_id(other.pid)
        assert holder is not None
        _hold(state, holder)
        with pytest.raises(HostHeld, match=f"run theirs .process {other.pid}"):
            acquire_lock(state, run_id="run", what="run")
        release_lock(state)
        assert read_lock(state) is not None
        other.communicate(b"\n")


@pytest.mark.parametrize("change", [{"start_time": 1}, {"boot_id": "of an earlier boot"}, {"pid": 2**22 + 1}])
def test_holder_that_is_provably_gone(state: StatePaths, change: dict[str, object]) -> None:
    """Another start time, another boot or no such process: the holder is gone and the host free (H7)."""
    _hold(state, own_process_id().model_copy(update=change))
    assert read_lock(state) is None
    assert acquire_lock(state, run_id="run", what="run").holder == own_process_id()


def test_token_takes_over(state: StatePaths) -> None:
    """Who shows the token takes the host over from a living holder; who does not is refused."""
    with _other() as other:
        holder = read_process_id(other.pid)
        assert holder is not None
        _hold(state, holder)
        with pytest.raises(HostHeld, match="by now"):
            take_over_lock(state, token="another", run_id="run", what="switch")
        assert take_over_lock(state, token="theirs", run_id="run", what="switch").holder == own_process_id()
        other.communicate(b"\n")
