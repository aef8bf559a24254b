"""The suite says what complete weights are: it fails where nothing was looked at, names the files, and never disagrees with the verdict."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from modelpivot.checks.rows import rows_of
from modelpivot.checks.suite import has_evaluated, read_suite, run_suite
from modelpivot.errors import UsageError
from modelpivot.models.manifest import Problem, ShardRow, Verified
from modelpivot.models.model_files import lacks_config
from modelpivot.weights.verdict import judge_table

FAULTS: dict[str, dict[str, object]] = {
    "good": {},
    "missing": {"found_size": None, "found_digest": None, "tensors": None, "problems": "MISSING"},
    "short": {"found_size": 7, "found_digest": None, "tensors": None, "problems": "SIZE_MISMATCH,HEADER_INVALID"},
    "short, untold": {"found_size": 7},
    "flipped": {"found_digest": "b" * 64, "problems": "HASH_MISMATCH"},
    "flipped, untold": {"found_digest": "b" * 64},
    "no digest": {"expected_digest": None, "found_digest": None, "digest_kind": None, "problems": "NO_DIGEST"},
    "no digest, untold": {"expected_digest": None, "found_digest": None, "digest_kind": None},
    "unproved": {"found_digest": None},
    "header": {"tensors": None, "problems": "HEADER_INVALID"},
    "no tensors": {"tensors": 0, "problems": "EMPTY"},
    "tensor missing": {"problems": "TENSOR_MISSING"},
}
STRAYS = ("EXTRA_WEIGHTS", "PARTIAL_LEFT", "UNSAFE_PATH")


def shard(number: int, **changes: object) -> ShardRow:
    """A row of a whole shard, changed."""
    row: dict[str, object] = {
        "path": f"model-{number:05}.safetensors",
        "is_weights": True,
        "expected_size": 10,
        "found_size": 10,
        "expected_digest": "a" * 64,
        "found_digest": "a" * 64,
        "digest_kind": "sha256",
        "tensors": 3,
    }
    return ShardRow.model_validate(row | changes)


def config(**changes: object) -> ShardRow:
    """A row of config.json, as fetched, changed."""
    return shard(0, **{"path": "config.json", "is_weights": False, "tensors": None, "digest_kind": "git_oid", **changes})


def verified(table: list[ShardRow], strays: tuple[str, ...] = ()) -> Verified:
    """The table with the verdict that the product gives, every code of a row being a problem."""
    problems = [Problem.model_validate({"file": row.path, "code": code}) for row in table for code in row.problems.split(",") if code]
    problems += [Problem.model_validate({"file": f"stray-{number}", "code": code}) for number, code in enumerate(strays)]
    if not any(row.is_weights for row in table):
        problems.append(Problem(file="*", code="MISSING"))
    if lacks_config(row.path for row in table):
        problems.append(Problem(file="config.json", code="MISSING"))
    return Verified(directory=Path("/weights"), verdict=judge_table(table, problems), table=table)


def is_passed(table: list[ShardRow], strays: tuple[str, ...] = (), expected_files: int | None = None) -> bool:
    """Whether the suite passes over a table."""
    files = len(table) if expected_files is None else expected_files
    return run_suite(rows_of(verified(table, strays)), expected_files=files).passed


def failed(table: list[ShardRow], expected_files: int | None = None) -> dict[str, str]:
    """Name of every failed check -> what was found."""
    files = len(table) if expected_files is None else expected_files
    return {check.name: check.found for check in run_suite(table, expected_files=files).checks if not check.passed}


@st.composite
def tables(draw: st.DrawFn) -> list[ShardRow]:
    """Shards in every state there is, with or without a config that may be patched."""
    states = draw(st.lists(st.sampled_from(["good", "good", "good", *FAULTS]), max_size=4))
    shards = [shard(number, **FAULTS[state]) for number, state in enumerate(states, 1)]
    configs = {"none": [], "good": [config()], "patched": [config(found_digest="c" * 64, found_size=8, problems="PATCHED")]}
    return [*shards, *configs[draw(st.sampled_from(sorted(configs)))]]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(table=tables(), strays=st.lists(st.sampled_from(STRAYS), max_size=1).map(tuple))
@example(table=[], strays=())
@example(table=[config()], strays=())
@example(table=[shard(1), config(found_digest="c" * 64, problems="PATCHED")], strays=())
@example(table=[shard(1)], strays=())
@example(table=[shard(1), config()], strays=("NO_TOKENIZER",))
@example(table=[shard(1), config()], strays=("EXTRA_WEIGHTS",))
def test_suite_and_verdict_never_disagree(table: list[ShardRow], strays: tuple[str, ...]) -> None:
    """Complete exactly where the suite passes."""
    is_complete = verified(table, strays).verdict.verdict == "complete"
    assert is_passed(table, strays) == is_complete


def test_whole_weights_pass_every_check() -> None:
    """The report lists each demand as passed, with how many rows it looked at."""
    result = run_suite([shard(1), shard(2), config()], expected_files=3)
    assert result.passed
    assert len(result.checks) == len(read_suite().expectations)
    assert all(check.passed for check in result.checks)
    assert "3 rows, all as expected" in {check.found for check in result.checks}


@pytest.mark.parametrize("state", [state for state in FAULTS if state != "good"])
def test_every_fault_fails_and_names_its_file(state: str) -> None:
    """One bad file among good ones: some check fails, and says which file."""
    found = failed([shard(1), shard(2, **FAULTS[state]), config()])
    assert found
    assert all("model-00002.safetensors" in words and "model-00001" not in words for words in found.values())


def test_a_shard_and_nothing_else_is_not_whole() -> None:
    """No engine reads it without a config: the demand names the weights. Other layouts need none of transformers' own."""
    assert failed([shard(1)]) == {"a config goes with the weights": "1 of 1 rows are not: model-00001.safetensors"}
    assert "a config goes with the weights" in failed([shard(1), config(found_size=None, found_digest=None, problems="MISSING")])
    assert failed([shard(1, path="consolidated.safetensors"), config(path="params.json")]) == {}
    assert failed([shard(1, path="model-Q4_K_M.gguf")]) == {}


def test_an_empty_table_fails_even_when_nothing_is_expected() -> None:
    """W9: no row is no proof."""
    assert "nothing was evaluated" in failed([], expected_files=0).values()


def test_fewer_rows_than_files_fail_first() -> None:
    """W9: 60 rows of 119 files, every one of them good."""
    found = failed([config(), *(shard(number) for number in range(59))], expected_files=119)
    assert found == {"as many rows as the manifest has files": "60"}


def test_a_column_of_nulls_fails() -> None:
    """W9: two unknowns are not equal."""
    found = failed([shard(number, expected_digest=None, found_digest=None) for number in range(3)])
    assert "digests are those of the manifest" in found


@pytest.mark.parametrize(
    ("details", "is_evaluated"),
    [
        ({}, False),
        ({"element_count": 0, "unexpected_count": 0}, False),
        ({"element_count": 3, "missing_count": 3}, False),
        ({"element_count": 3, "missing_count": 2}, True),
        ({"element_count": 3}, True),
        ({"observed_value": None}, False),
        ({"observed_value": float("nan")}, False),
        ({"observed_value": 0}, True),
    ],
)
def test_what_was_not_looked_at_did_not_hold(details: dict[str, object], is_evaluated: bool) -> None:
    """The library calls an expectation over no values a success; here it is none."""
    assert has_evaluated(details) == is_evaluated


def test_a_demand_for_a_column_that_is_not_there_fails_with_the_reason(tmp_path: Path) -> None:
    """An error in the suite's file is a failed check that says what was raised."""
    path = tmp_path / "suite.yaml"
    path.write_text("name: x\nexpectations: [{name: typo, type: expect_column_values_to_not_be_null, kwargs: {column: pathh}}]\n")
    [check] = run_suite([shard(1)], path, expected_files=1).checks
    assert not check.passed
    assert "pathh" in check.found


@pytest.mark.parametrize("text", ["", "name: x", "name: x\nexpectations: []", "name: x\nexpectations: [{name: y}]", ": ["])
def test_a_suite_that_demands_nothing_or_is_wrong_is_refused(tmp_path: Path, text: str) -> None:
    """An empty suite would pass everything."""
    path = tmp_path / "suite.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"suite\.yaml"):
        read_suite(path)


def test_sizes_beyond_32_bits_and_names_in_any_script_are_plain_json() -> None:
    """The stored result is JSON that any reader takes; 540 GB stays exact."""
    big = 540_123_456_789
    result = run_suite([shard(1, expected_size=big, found_size=big - 1, path="模型-1.safetensors")], expected_files=1)
    text = result.model_dump_json()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert str(big - 1) in text
    assert not result.passed


def test_great_expectations_is_not_imported_before_a_suite_runs() -> None:
    """Importing the stage costs none of the library's seconds."""
    code = "import sys, modelpivot.stages.check; print([name for name in ('great_expectations', 'pandas') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
