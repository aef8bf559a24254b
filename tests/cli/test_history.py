"""history when its places are damaged, away or odd: what can be told is told, and what was asked for is one JSON object."""

import json
from pathlib import Path

import pytest

from modelpivot.benchmark.keep import keep
from modelpivot.state.paths import StatePaths
from tests.benchmark.results import result
from tests.cli.test_hostile_words import READ_ONLY_STATE, run, run_under
from tests.reclaiming import ROOT_ONLY


def test_a_damaged_run_hides_no_other(tmp_path: Path) -> None:
    """Its id and what is wrong with it on standard error; the others in the list."""
    for name in ("20260101-000000-a-1", "20260101-000001-b-2"):
        (tmp_path / "state" / "runs" / name).mkdir(parents=True)
    (tmp_path / "state" / "runs" / "20260101-000000-a-1" / "result.json").write_text("{")
    (tmp_path / "state" / "runs" / "20260101-000001-b-2" / "events.jsonl").write_bytes(b'\xff\n[1]\n{"at": "x"}\n')
    done = run(tmp_path, "history", "--json")
    assert [each["run_id"] for each in json.loads(done.stdout)["runs"]] == ["20260101-000001-b-2"]
    assert done.returncode == 0 and "20260101-000000-a-1" in done.stderr


@pytest.mark.parametrize("options", [("--export", "all.csv"), ("--export", "all.parquet"), ("--pictures", "all.html")])
def test_a_written_history_is_one_object(tmp_path: Path, options: tuple[str, str]) -> None:
    """How many results, in which files; folders on the way are made."""
    done = run(tmp_path, "history", options[0], f"new/{options[1]}", "--json")
    assert json.loads(done.stdout) == {"results": 0, "files": [f"new/{options[1]}"]}
    assert (tmp_path / "new" / options[1]).stat().st_size > 0


@pytest.mark.parametrize("target", ["folder.csv", "folder.parquet"])
def test_a_history_that_cannot_be_written_says_where(tmp_path: Path, target: str) -> None:
    """Exit 3 with the name."""
    (tmp_path / target).mkdir()
    done = run(tmp_path, "history", "--export", target)
    assert done.returncode == 3 and target in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(("url", "code"), [("mysql://u:secret@h/x", 2), ("nonsense", 2), ("postgresql://u:secret@127.0.0.1:1/x", 6)])
def test_a_database_that_is_away_is_no_empty_history(tmp_path: Path, url: str, code: int) -> None:
    """An address that is none: 2; nobody answers there: 6. The password stays untold."""
    done = run(tmp_path, "history", "--results", "--json", MODELPIVOT_DATABASE_URL=url)
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (code, code)
    assert "secret" not in done.stdout + done.stderr


def test_a_bench_that_cannot_begin_leaves_no_run(tmp_path: Path) -> None:
    """Nothing serves: exit 3, and no run in the history that did nothing."""
    assert run(tmp_path, "bench", "--json").returncode == 3
    assert json.loads(run(tmp_path, "history", "--json").stdout)["runs"] == []


@ROOT_ONLY
@pytest.mark.parametrize("words", [("--results",), ("--export", "all.csv"), ()])
def test_a_state_that_takes_nothing_is_read(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A read-only mount, as after a disk's fault: looking back writes nothing, so it needs nothing to write to."""
    keep(StatePaths(tmp_path / "state"), [result(61.0)])
    done = run_under(READ_ONLY_STATE, tmp_path, "history", *words, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["results"] == 1 if "--export" in words else len(told["results"]) == len(words)


def test_looking_back_makes_nothing(tmp_path: Path) -> None:
    """No state before, no state afterwards, and no result is no failure."""
    done = run(tmp_path, "history", "--results", "--json")
    assert (done.returncode, json.loads(done.stdout)["results"]) == (0, [])
    assert list(tmp_path.iterdir()) == []
