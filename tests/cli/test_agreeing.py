"""The question on a terminal before something goes: one for everything, asked where a yes is missing, and only a yes is one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from modelpivot.settings import to_environment
from modelpivot.stages.report import report
from modelpivot.state.runs import list_runs
from tests.reclaiming import Pile


def answered(pile: Pile, answer: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The command with a terminal as its standard input, on which this is typed."""
    ours, theirs = os.openpty()
    os.write(ours, answer.encode())
    argv, environ = [sys.executable, "-m", "modelpivot", *words], {**os.environ, **to_environment(pile.host)}
    try:
        return subprocess.run(argv, env=environ, stdin=theirs, capture_output=True, text=True, check=False)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("command", ["reclaim", "cleanup"])
@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 3)])
def test_a_person_is_asked_once(tmp_path: Path, command: str, answer: str, code: int) -> None:
    """What may go is shown first; a no leaves everything, with the exit code of what nobody agreed to."""
    pile = Pile(tmp_path)
    path = pile.weights()
    done = answered(pile, answer, command)
    assert done.returncode == code
    assert path.exists() == (code != 0) and done.stderr.count("no more than a yes?") == 1


def test_a_cleanup_that_nobody_agreed_to_is_blocked(tmp_path: Path) -> None:
    """Without a terminal and without a word exit 3, and nothing is touched; the history has it so. Where nothing is offered there is nothing to
    agree to: exit 0."""
    pile = Pile(tmp_path)
    words = [sys.executable, "-m", "modelpivot", "cleanup"]
    environ = {**os.environ, **to_environment(pile.host)}
    assert subprocess.run(words, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
    path = pile.weights()
    done = subprocess.run(words, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, "nobody agreed" in done.stderr, path.exists()) == (3, True, True)
    assert [report(pile.state, run.id).outcome for run in list_runs(pile.state)] == ["blocked", "cleaned"]


def test_who_named_things_is_not_asked(tmp_path: Path) -> None:
    """`--agree ID` says what goes; the rest stays."""
    pile = Pile(tmp_path)
    path, other = pile.weights(), pile.weights("acme/other")
    [named] = [item for item in pile.items() if "other" in item]
    for command in ("reclaim", "cleanup"):
        done = answered(pile, "y\n", command, "--agree", named)
        assert "yes?" not in done.stderr and path.exists() and not other.exists()
        other = pile.weights("acme/other")
