"""compare, history and bench through the real command: exit codes, one object on standard output, files that other tools read."""

import csv
import json
import subprocess
from pathlib import Path

import pyarrow.parquet
import pytest

from modelpivot.benchmark.keep import keep
from modelpivot.benchmark.store import MOST
from modelpivot.state.paths import StatePaths
from tests.benchmark.results import SETUP, result
from tests.cli.test_usage import command

NEWER = SETUP.model_copy(update={"engine_version": "0.27.0"})


@pytest.fixture
def past(tmp_path: Path) -> Path:
    """A host with two versions in its history, the newer one a tenth slower, and a result that says nothing."""
    old = [result(speed, start=f"a{speed}", run_id="run-old", release="model-old") for speed in (60.0, 60.3, 59.8)]
    new = [result(speed, start=f"b{speed}", run_id="run-new", release="model-new", setup=NEWER, at=2000.0) for speed in (54.0, 54.2)]
    keep(StatePaths(tmp_path / "state_dir"), [*old, *new, result(None, run_id="run-void", release="model-void", at=3000.0)])
    return tmp_path


def test_compare_says_what_regressed(past: Path) -> None:
    """Exit 1; set-up first, then both figures of every metric, and the same as one object."""
    told = command(past, "compare", "model-old", "0.27.0")
    assert told.returncode == 1
    assert told.stdout.index("engine_version") < told.stdout.index("tok/s")
    assert "regressed" in told.stdout
    document = json.loads(command(past, "compare", "run-old", "run-new", "--json").stdout)
    assert document["verdict"] == "regressed"
    assert document["differences"][0] == {"field": "engine_version", "baseline": "0.26.0", "candidate": "0.27.0"}


def test_compare_the_other_way_round_is_an_improvement(past: Path) -> None:
    """Exit 0, and 0 where a loss of that size is allowed."""
    assert command(past, "compare", "model-new", "model-old").returncode == 0
    assert command(past, "compare", "model-old", "model-new", "--percent", "20").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("model-old", "model-void"), "no valid figures on the side of the candidate"),
        (("model-old", "nothing-of-the-kind"), "no results of 'nothing-of-the-kind'"),
        (("model-", "model-old"), "'model-' begins several"),
    ],
)
def test_what_cannot_be_compared_is_refused(past: Path, words: tuple[str, str], said: str) -> None:
    """Exit 2 with the reason."""
    ended = command(past, "compare", *words)
    assert (ended.returncode, said in ended.stderr) == (2, True)


def test_history_lists_results(past: Path) -> None:
    """Newest first; one that is not valid has no figures."""
    told = json.loads(command(past, "history", "--results", "--json").stdout)
    assert [one["release"] for one in told["results"]][:2] == ["model-void", "model-new"]
    assert told["results"][0]["measurement"]["output_tokens_per_s"] is None
    assert " void" in command(past, "history", "--results").stdout


def test_exports_hold_everything_and_agree(past: Path) -> None:
    """CSV and Parquet have the same columns and figures; unknown is empty, not zero."""
    files = [past / "all.csv", past / "all.parquet"]
    for file in files:
        assert command(past, "history", "--export", str(file)).returncode == 0
    with files[0].open() as text:
        rows = list(csv.DictReader(text))
    table = pyarrow.parquet.read_table(files[1])
    assert (len(rows), table.num_rows) == (6, 6)
    assert list(rows[0]) == table.column_names
    assert (rows[0]["output_tokens_per_s"], table["output_tokens_per_s"][0].as_py()) == ("", None)
    assert [float(row["output_tokens_per_s"]) for row in rows[1:]] == table["output_tokens_per_s"].to_pylist()[1:]
    assert str(table.schema.field("peak_kv_use").type) == "double"


def test_an_export_has_every_result_however_many(tmp_path: Path) -> None:
    """One more than a question of the gate is answered with: as many lines as results."""
    keep(StatePaths(tmp_path / "state_dir"), [result(60.0, at=float(number)) for number in range(MOST + 1)])
    told = command(tmp_path, "history", "--export", str(tmp_path / "all.csv"), "--json")
    assert json.loads(told.stdout)["results"] == MOST + 1
    assert len((tmp_path / "all.csv").read_text().splitlines()) == MOST + 2


def test_an_export_of_another_kind_is_refused(past: Path) -> None:
    """Exit 2 names the kinds."""
    ended = command(past, "history", "--export", str(past / "all.xlsx"))
    assert (ended.returncode, ".parquet" in ended.stderr) == (2, True)


def test_the_history_is_drawn(past: Path) -> None:
    """One file."""
    assert command(past, "history", "--pictures", str(past / "h.html")).returncode == 0
    assert "0.27.0" in (past / "h.html").read_text()


def ended_with(ended: subprocess.CompletedProcess[str], code: int, said: str) -> bool:
    """Exit code and words."""
    return ended.returncode == code and said in ended.stderr


def test_bench_needs_something_that_serves(tmp_path: Path) -> None:
    """Exit 3: nothing is measured and nothing was changed."""
    assert ended_with(command(tmp_path, "bench"), 3, "nothing is served by modelpivot on this host")
