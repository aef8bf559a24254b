"""Many things go in one reclaim: all are moved aside, looked at once, and each goes or lies under its own name again."""

import os
import sys
from pathlib import Path
from types import FrameType

import pytest

from modelpivot.facts import open_files
from modelpivot.models.reclaim import Item
from modelpivot.operations.reclaim import reclaim_items
from modelpivot.operations.set_aside import Reclaiming
from modelpivot.state.reclaimed import read_records
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.verify import verify_directory
from tests.reclaiming import Pile, holding, names
from tests.stages.test_reclaim_kills import Killer, killer

__all__ = ["killer"]

COMMITS = [letter * 40 for letter in "abc"]


@pytest.fixture
def pile(tmp_path: Path) -> Pile:
    """A host with three commits of one model, below one folder."""
    return piled(tmp_path)


def piled(root: Path, commits: list[str] = COMMITS) -> Pile:
    made = Pile(root)
    for commit in commits:
        made.weights(commit=commit, shards=1, bytes_each=10_000)
    return made


def items_of(pile: Pile) -> list[Item]:
    items = sorted(pile.plan("weights").items, key=lambda item: item.id)
    assert len(items) == len(COMMITS)
    return items


def job_of(pile: Pile) -> Reclaiming:
    return Reclaiming(pile.host, pile.state, "test", lambda *_, **__: None)


def test_processes_are_looked_at_once_however_many_things_go(pile: Pile) -> None:
    """Once when it is planned again, once after the last move: a thousand blobs of a cache cost no thousand looks."""
    made, looks = pile.plan(), 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal looks
        looks += event == "call" and frame.f_code is open_files.read_open_files.__code__

    sys.setprofile(count)
    try:
        done = pile.reclaim(made)
    finally:
        sys.setprofile(None)
    assert (len(done.items), done.failed, looks) == (len(COMMITS), [], 2)


@pytest.mark.parametrize("held", COMMITS)
def test_what_is_held_lies_where_it_lay_and_the_others_go(pile: Pile, held: str) -> None:
    """Opened after the plan, and seen after the move: back under its own name, though all its neighbours are gone."""
    items, parent = items_of(pile), pile.host.weights_root / "acme--old"
    with holding(f"f = open({str(parent / held / 'config.json')!r})") as pid:
        gone = list(reclaim_items(job_of(pile), items))
    assert [bool(each.problem) for each in gone] == [commit == held for commit in COMMITS]
    assert f"process {pid}" in next(each.problem for each in gone if each.problem)
    assert sorted(path.name for path in parent.iterdir()) == [held] and (parent / held / "config.json").exists()
    assert not (pile.host.weights_root / ".reclaim").exists()


def test_what_was_not_asked_for_any_more_is_put_back(pile: Pile) -> None:
    """Ctrl-C after the first: the others were moved and not proved yet; they lie under their own names, and no record says otherwise."""
    ends = reclaim_items(job_of(pile), items_of(pile))
    assert next(ends).problem == ""
    assert len(list(pile.host.weights_root.glob(".reclaim/*"))) == 2
    ends.close()
    assert sorted(path.name for path in (pile.host.weights_root / "acme--old").iterdir()) == COMMITS[1:]
    assert [record.phase for record in read_records(pile.state)] == ["gone"]


def test_killed_with_several_aside(tmp_path: Path, killer: Killer) -> None:
    """SIGKILL now and then on the way: what lies under a name is whole, the next reclaim puts back and finishes, and leaves nothing behind."""
    for calls in range(2, 200, 7):
        pile = piled(tmp_path / str(calls), COMMITS[:2])
        was_killed = killer.reclaim(pile, calls)
        for path in (pile.host.weights_root / "acme--old").glob("*"):
            manifest = read_manifest(path)
            assert manifest and verify_directory(path, manifest, is_full=True, tell=lambda *_, **__: None).verdict.verdict == "complete"
        pile.reclaim()
        done = pile.reclaim()
        assert done.failed == [] and names(pile.host.weights_root) <= {os.fsencode(pile.host.weights_root / "acme--old")}, (calls, done)
        assert sorted(record.commit for record in read_records(pile.state) if record.phase == "gone") == COMMITS[:2]
        if not was_killed:
            return
    pytest.fail("it never came to its end")
