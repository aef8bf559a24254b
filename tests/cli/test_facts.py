"""facts on a host whose state cannot be read: the rest is told all the same, and what is not known is named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_hostile_words import run


def a_file(state: Path) -> None:
    state.write_text("")


def a_broken_book(state: Path) -> None:
    state.mkdir()
    (state / "releases.json").write_text("{")


def a_release_that_is_gone(state: Path) -> None:
    state.mkdir()
    (state / "releases.json").write_text('{"current": "gone-1"}')


@pytest.mark.parametrize("make", [a_file, a_broken_book, a_release_that_is_gone])
def test_facts_name_the_state_that_cannot_be_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """Memory, disks and tools are told; what serves is unread, with its reason."""
    make(tmp_path / "state")
    done = run(tmp_path, "facts", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0 and str(tmp_path / "state") in told["state"]["unread"]
    assert told["memory_bytes"] > 0 and "uv" in told["tools"] and told["current"] is None


def test_a_person_reads_it_in_place_of_what_serves(tmp_path: Path) -> None:
    """Beside everything else."""
    a_broken_book(tmp_path / "state")
    shown = run(tmp_path, "facts")
    assert shown.returncode == 0 and "unread (state in" in shown.stdout and "memory" in shown.stdout


def test_model_and_engine_are_read_all_the_same(tmp_path: Path) -> None:
    """They do not lie in the state."""
    a_broken_book(tmp_path / "state")
    done = run(tmp_path, "facts", "glm-5-gguf", "--json", MODELPIVOT_HUB_ENDPOINT="http://127.0.0.1:9", UV_OFFLINE="1")
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["host"]["state"]["unread"]
    assert told["model"]["hub_problem"] == "unreachable" and "releases.json" not in json.dumps(told["engine"])


def test_what_changes_a_host_does_not_begin(tmp_path: Path) -> None:
    """Only looking goes on without a state."""
    a_broken_book(tmp_path / "state")
    assert [run(tmp_path, *words).returncode for words in (("status",), ("cleanup", "--dry-run"))] == [2, 2]
