"""`modelpivot patch` as a person or a script calls it: exit codes, one JSON object, and what it leaves on disk."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from modelpivot.cli.app import app
from modelpivot.errors import PivotError
from modelpivot.models.exit_code import ExitCode
from tests.kv_shapes import ASIDE, FP8, LATENT, flat, top

ON_SM120 = ("--compute-capability", "12.0", "--engine-version", "0.15.0")


def patch(directory: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and answer; an error's own code and what it says."""
    result = CliRunner().invoke(app, ["patch", str(directory), *words, "--json"])
    if isinstance(result.exception, PivotError):
        return result.exception.exit_code, {"message": str(result.exception)}
    assert result.exception is None, result.exception
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A checkpoint with both files, laid out as no writer would."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_bytes(json.dumps(top(flat(kv_cache_scheme=FP8)), indent=3).replace("\n", "\r\n").encode())
    (folder / "hf_quant_config.json").write_text(json.dumps(ASIDE))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file's bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_both_files_lose_the_setting_and_nothing_else(model: Path) -> None:
    """E6: the scheme goes with its lines, the older file keeps its key with null; every other byte stays."""
    before = contents(model)
    code, said = patch(model, *ON_SM120)
    config, aside = (model / "config.json").read_bytes(), (model / "hf_quant_config.json").read_bytes()
    start = before["config.json"].index(b',\r\n      "kv_cache_scheme"')
    assert (code, said["outcome"], [file["file"] for file in said["files"]]) == (0, "patched", ["config.json", "hf_quant_config.json"])
    assert before["config.json"].startswith(config[:start]) and before["config.json"].endswith(config[start:])
    assert aside == before["hf_quant_config.json"].replace(b'"kv_cache_quant_algo": "FP8"', b'"kv_cache_quant_algo": null')


def test_the_diff_shows_what_went(model: Path) -> None:
    """Lines with their sign; a file in one line is cut around the change."""
    _, said = patch(model, *ON_SM120, "--dry-run")
    config, aside = said["files"]
    assert any("kv_cache_scheme" in line and line.startswith("-") for line in config["diff"])
    assert [line[0] for line in aside["diff"]] == ["-", "+"] and all(len(line) < 200 for line in aside["diff"])


def test_a_dry_run_changes_nothing(model: Path) -> None:
    """Not even a folder of ours."""
    before = contents(model)
    assert patch(model, *ON_SM120, "--dry-run")[1]["outcome"] == "would_patch"
    assert contents(model) == before and not (model / ".modelpivot").exists()


def test_a_second_call_is_nothing_to_do(model: Path) -> None:
    """Idempotent: no file is written again."""
    patch(model, *ON_SM120)
    before = {path: path.stat().st_ctime_ns for path in model.rglob("*")}
    assert patch(model, *ON_SM120)[1]["outcome"] == "unchanged"
    assert {path: path.stat().st_ctime_ns for path in model.rglob("*")} == before


def test_revert_gives_every_byte_back(model: Path) -> None:
    """And shows the way it goes; a second time there is nothing to do."""
    before = contents(model)
    patch(model, *ON_SM120)
    code, said = patch(model, "--revert", "--dry-run")
    assert (code, said["outcome"]) == (0, "would_revert") and any(line.startswith("+") for line in said["files"][0]["diff"])
    assert patch(model, "--revert")[1]["outcome"] == "reverted"
    assert contents(model) == before
    assert patch(model, "--revert")[1]["outcome"] == "unchanged"


@pytest.mark.parametrize(("capability", "outcome"), [("12.0", "patched"), ("12.1", "patched"), ("10.0", "unchanged"), ("9.0", "unchanged")])
def test_other_cards_keep_it(model: Path, capability: str, outcome: str) -> None:
    """E5: keyed on the compute capability."""
    assert patch(model, "--compute-capability", capability, "--engine-version", "0.15.0")[1]["outcome"] == outcome


def test_one_rule_alone(model: Path) -> None:
    """Named and holding: as without it. Named and not holding: nothing, and said so. Unknown: refused with those that there are."""
    assert patch(model, *ON_SM120, "--rule", "fp8-kv-sm120", "--dry-run")[1]["outcome"] == "would_patch"
    other = patch(model, *ON_SM120, "--rule", "nccl-pcie")[1]
    assert other["outcome"] == "unchanged" and "does not hold here" in other["warnings"][-1]
    code, said = patch(model, *ON_SM120, "--rule", "no-such-rule")
    assert code == ExitCode.USAGE and "fp8-kv-sm120" in said["message"]


def test_a_cache_snapshot_keeps_its_blobs(tmp_path: Path, model: Path) -> None:
    """W7: links into blobs become files of their own; blobs stay byte for byte, and the way back makes the links again."""
    cache = tmp_path / "hub" / "models--acme--tiny"
    snapshot = cache / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (cache / "blobs").mkdir()
    for name in ("config.json", "hf_quant_config.json"):
        shutil.copy2(model / name, cache / "blobs" / name[:5])
        (snapshot / name).symlink_to(f"../../blobs/{name[:5]}")
    before = contents(cache / "blobs")
    assert patch(snapshot, *ON_SM120)[1]["outcome"] == "patched"
    assert contents(cache / "blobs") == before and not (snapshot / "config.json").is_symlink()
    patch(snapshot, "--revert")
    assert [path.name for path in snapshot.iterdir() if path.is_symlink()] == [path.name for path in snapshot.iterdir()]


def test_a_directory_named_by_a_link_is_told_by_its_real_name(tmp_path: Path, model: Path) -> None:
    """What is changed is never in doubt."""
    (tmp_path / "current").symlink_to(model)
    assert patch(tmp_path / "current", *ON_SM120)[1]["directory"] == str(model)


@pytest.mark.parametrize("text", ["", "[1]", "null", "\ufeff{}", '{"a": ', "[" * 5000, '{"a": "\\ud800"}', "\x00"])
def test_a_config_that_nobody_can_read_is_refused(model: Path, text: str) -> None:
    """Exit 2, and the file stays."""
    (model / "config.json").write_text(text)
    code, said = patch(model, *ON_SM120)
    assert code == ExitCode.USAGE and "config.json" in said["message"]
    assert (model / "config.json").read_text() == text


def test_a_second_file_that_nobody_can_read_is_told(model: Path) -> None:
    """config.json is patched all the same: it goes before the other."""
    (model / "hf_quant_config.json").write_text("{")
    code, said = patch(model, *ON_SM120)
    assert (code, [file["file"] for file in said["files"]]) == (0, ["config.json"])
    assert any("hf_quant_config.json is no JSON" in warning for warning in said["warnings"])


def test_a_key_that_stands_twice_is_refused(model: Path) -> None:
    """Readers disagree on which of them counts; neither file is touched."""
    text = '{"quantization_config": {}, ' + json.dumps(top(flat(kv_cache_scheme=FP8)))[1:]
    (model / "config.json").write_text(text)
    before = contents(model)
    code, said = patch(model, *ON_SM120)
    assert code == ExitCode.BLOCKED and "stands 2 times" in said["message"] and contents(model) == before


def test_an_unknown_shape_is_left_and_told(model: Path) -> None:
    """No edit, said so with file and pointer."""
    (model / "config.json").write_text(json.dumps(top(flat(kv_cache_scheme={"bits": 8}))))
    (model / "hf_quant_config.json").unlink()
    code, said = patch(model, *ON_SM120)
    assert (code, said["outcome"]) == (0, "unchanged")
    assert "/quantization_config/kv_cache_scheme in a shape that is not known here" in said["warnings"][0]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--compute-capability", "12.0"),
        ("--compute-capability", "sm120", "--engine-version", "0.15.0"),
        ("--compute-capability", "12.0", "--engine-version", "newest"),
    ],
)
def test_wrong_words_are_told(model: Path, words: tuple[str, ...]) -> None:
    """Exit 2."""
    assert patch(model, *words)[0] == ExitCode.USAGE


def test_no_directory_is_told(tmp_path: Path) -> None:
    """Exit 2; so is a directory without config.json."""
    assert patch(tmp_path / "none", *ON_SM120)[0] == patch(tmp_path, *ON_SM120)[0] == ExitCode.USAGE


def test_gguf_has_nothing_to_patch(tmp_path: Path) -> None:
    """Said, and no fault."""
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    code, said = patch(tmp_path, *ON_SM120)
    assert (code, said["outcome"]) == (0, "unchanged") and "GGUF" in said["warnings"][0]


def test_a_releases_view_is_not_touched(model: Path) -> None:
    """It is frozen: its plan makes it."""
    view = model.rename(model.parent / "view")
    (view.parent / "release.json").write_text("{}")
    before = contents(view)
    assert patch(view, *ON_SM120)[0] == ExitCode.BLOCKED and contents(view) == before


def test_a_model_that_asks_for_nothing_is_left(model: Path) -> None:
    """Nothing to do, nothing written."""
    (model / "config.json").write_text(json.dumps(LATENT))
    (model / "hf_quant_config.json").unlink()
    assert patch(model, *ON_SM120)[1]["outcome"] == "unchanged" and len(list(model.iterdir())) == 1
