"""A reclaim that is killed: nothing half lies under a name that somebody trusts, and the next one finishes or puts back."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.state.reclaimed import read_records
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.verify import verify_directory
from tests.reclaiming import Pile, names

RUN = """
import os, signal, sys, traceback
from pathlib import Path
from modelpivot.operations.reclaim import reclaim_items
from modelpivot.operations.set_aside import Reclaiming
from tests.reclaiming import Pile

def reclaim(root, calls):
    pile = Pile(Path(root))
    items = pile.plan("weights").items

    def count(frame, event, argument):
        nonlocal calls
        if event == "c_call" and argument in (os.rename, os.unlink, os.rmdir, os.mkdir, os.fsync):
            calls -= 1
            if calls == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    job = Reclaiming(pile.host, pile.state, "killed", lambda *_, **__: None)
    sys.setprofile(count)
    list(reclaim_items(job, items))

for line in sys.stdin:
    root, calls = line.rsplit(maxsplit=1)
    child = os.fork()
    if child == 0:
        try:
            reclaim(root, int(calls))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Reclaims in one child after the other, forked from a process that has imported everything already: a start of Python for each takes half a second."""


class Killer:
    """Has reclaims killed."""

    def __init__(self) -> None:
        argv = [sys.executable, "-c", RUN]
        self.process = subprocess.Popen(argv, cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def reclaim(self, pile: Pile, calls: int) -> bool:
        """A reclaim in a process that is killed right before its n-th change on disk; False: it had ended before."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{pile.root} {calls}\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        assert code in (0, -signal.SIGKILL)
        return code != 0


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    """One for all tests of a file."""
    made = Killer()
    yield made
    made.process.communicate()


@pytest.mark.parametrize("first", range(4))
def test_killed_before_every_single_change(tmp_path: Path, killer: Killer, first: int) -> None:
    """SIGKILL before each change on disk, one after the other: what lies under its name is whole, and the next reclaim leaves nothing behind."""
    for calls in range(1 + first, 200, 4):
        pile = Pile(tmp_path / str(calls))
        path = pile.weights(shards=2, bytes_each=10_000)
        was_killed = killer.reclaim(pile, calls)
        if path.exists():
            manifest = read_manifest(path)
            assert manifest and verify_directory(path, manifest, is_full=True, tell=lambda *_, **__: None).verdict.verdict == "complete"
        pile.reclaim()
        done = pile.reclaim()
        assert done.failed == [] and names(pile.host.weights_root) <= {os.fsencode(path.parent)}, (calls, done)
        [record] = [record for record in read_records(pile.state) if record.phase == "gone"]
        assert (record.repo, len(record.files)) == ("acme/old", 3)
        if not was_killed:
            return
    pytest.fail("it never came to its end")


def test_what_was_moved_and_not_proved_is_put_back(tmp_path: Path, killer: Killer) -> None:
    """Killed between the move and the proof, and a file came into it by a descriptor: it lies under its own name again, with that file."""
    pile = Pile(tmp_path)
    path = pile.weights(shards=1)
    for calls in range(1, 40):
        killer.reclaim(pile, calls)
        if moved := [each for each in pile.host.weights_root.glob(".reclaim/*") if not path.exists()]:
            break
    [aside] = moved
    (aside / "late").write_text("written by somebody who had it open")
    assert any("puts it back" in warning for warning in pile.plan().warnings)
    pile.reclaim()
    assert (path / "late").exists() and (path / "config.json").exists()


def test_a_name_that_was_taken_meanwhile_is_not_overwritten(tmp_path: Path, killer: Killer) -> None:
    """What cannot be put back stays in the trash, on record, and is said; what took its name stays as well."""
    pile = Pile(tmp_path)
    path = pile.weights(shards=1)
    for calls in range(1, 40):
        killer.reclaim(pile, calls)
        if not path.exists():
            break
    path.mkdir()
    (path / "new-owner").write_text("x")
    pile.reclaim()
    assert (path / "new-owner").exists() and len(list(pile.host.weights_root.glob(".reclaim/*/config.json"))) == 1
