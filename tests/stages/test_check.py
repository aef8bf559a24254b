"""Check shards: whole weights pass, any fault stops with the file's name first, and what was found stays in the run's folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from modelpivot.checks.suite import SuiteResult
from modelpivot.errors import GateFailed
from modelpivot.files import read_model
from modelpivot.models.manifest import Verified
from modelpivot.stages.check import check_shards
from tests.stages.deciding import Desk, tree

SHARD = "model-00002-of-00003.safetensors"


def test_whole_weights_pass_and_the_result_is_kept(desk: Desk) -> None:
    """Every check holds, nothing is hashed again, and both results lie in the run."""
    checks = check_shards(desk.context, desk.fetched())
    assert all(check.passed for check in checks)
    verified, result = read_model(desk.context.run.verified, Verified), read_model(desk.context.run.checks, SuiteResult)
    assert verified
    assert verified.verdict.files.hashed_now == 0
    assert result
    assert result.checks == checks


def flip(path: Path) -> None:
    """One bit of the last byte."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


FAULTS: dict[str, tuple[Callable[[Path], object], str, str | None]] = {
    "missing": (lambda path: path.unlink(), "MISSING", None),
    "flipped": (flip, "HASH_MISMATCH", "weights"),
    "short": (lambda path: path.write_bytes(path.read_bytes()[:-5]), "SIZE_MISMATCH", "weights"),
    "empty": (lambda path: path.write_bytes(b""), "EMPTY", "weights"),
    "one too many": (lambda path: path.with_name("model-00004-of-00004.safetensors").write_bytes(b"x"), "EXTRA_WEIGHTS", None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_any_fault_stops_with_its_file_first(desk: Desk, fault: str) -> None:
    """GateFailed; the first words of `failed` are code and file, the failed checks follow; no byte of the weights was changed.

    Only other bytes than the manifest's are the gate that has an alert of its own.
    """
    plan = desk.fetched()
    assert plan.candidate
    harm, code, gate = FAULTS[fault]
    harm(plan.candidate.weights_dir / SHARD)
    before = tree(plan.candidate.weights_dir)
    with pytest.raises(GateFailed) as caught:
        check_shards(desk.context, plan)
    assert (caught.value.failed[0].startswith(code), caught.value.gate) == (True, gate)
    assert ".safetensors" in caught.value.failed[0]
    assert any("no file has a problem" in line for line in caught.value.failed)
    after = tree(plan.candidate.weights_dir)
    assert {name: file for name, file in after.items() if "receipts" not in name} == {
        name: file for name, file in before.items() if "receipts" not in name
    }
    assert desk.words("check shards") == ["started", "failed"]


def test_the_failed_checks_are_told_for_the_report(desk: Desk) -> None:
    """The report collects the checks of the stage that failed, passed and not."""
    plan = desk.fetched()
    assert plan.candidate
    (plan.candidate.weights_dir / SHARD).unlink()
    with pytest.raises(GateFailed):
        check_shards(desk.context, plan)
    failed = next(event for event in desk.told if event.stage == "check shards" and event.kind == "failed")
    told = failed.data["checks"]
    assert isinstance(told, list)
    assert {check["passed"] for check in told if isinstance(check, dict)} == {True, False}


def test_a_full_check_hashes_every_file_whatever_receipts_say(desk: Desk) -> None:
    """W1: the result says how many were hashed now."""
    plan = desk.fetched()
    assert plan.manifest
    check_shards(desk.context, plan, is_full=True)
    verified = read_model(desk.context.run.verified, Verified)
    assert verified
    assert verified.verdict.files.hashed_now == len(plan.manifest.files)
