"""`modelpivot fetch` and `modelpivot verify` as a person or a script calls them: exit codes, and one JSON object on standard output."""

import json
import os
import signal
import subprocess
import sys

import pytest

from modelpivot.mirror.faults import Fault, answer_fault
from modelpivot.waiting import wait_for
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.view import make_view
from tests.kv_shapes import FP8, flat, top
from tests.weights.conftest import REPO, SHARD, Lab
from tests.weights.told import size_of

CODES = {
    "MISSING", "EXTRA_WEIGHTS", "SIZE_MISMATCH", "HASH_MISMATCH", "LFS_POINTER", "ERROR_PAGE", "EMPTY", "HEADER_INVALID", "HEADER_TOO_LARGE",
    "OFFSETS_INVALID", "TENSOR_MISSING", "TENSOR_DUPLICATE", "INDEX_STALE", "INDEX_INVALID", "PARTIAL_LEFT", "UNSAFE_PATH", "NO_DIGEST",
    "UNREADABLE", "PATCHED",
}  # fmt: skip


def start(lab: Lab, *words: str, hub: str | None = None) -> subprocess.Popen[str]:
    """The command, with this Hub and a state of its own."""
    home = lab.directory.parent / "home"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "MODELPIVOT_"))}
    environment |= {"MODELPIVOT_HUB_ENDPOINT": hub or lab.mirror.base_url, "MODELPIVOT_STATE_DIR": str(home), "HF_HOME": str(home)}
    environment["MODELPIVOT_DISK_RESERVE_BYTES"] = "0"
    argv = [sys.executable, "-m", "modelpivot", *words]
    return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def command(lab: Lab, *words: str, hub: str | None = None) -> tuple[int, dict[str, object]]:
    """Exit code and the JSON of the command."""
    process = start(lab, *words, "--json", hub=hub)
    output, errors = process.communicate(timeout=120)
    assert output.count("\n") >= 1, errors
    return process.returncode, json.loads(output)


@pytest.fixture
def whole(lab: Lab) -> Lab:
    """A complete directory of what an engine needs."""
    code, _ = command(lab, "fetch", REPO, str(lab.directory))
    assert code == 0
    return lab


def test_fetch_ends_complete_and_goes_on_as_nothing_to_do(whole: Lab) -> None:
    """0 and a complete verdict; again: 0, nothing asked but the metadata, nothing hashed."""
    whole.mirror.served.clear()
    code, verdict = command(whole, "fetch", REPO, str(whole.directory))
    assert (code, verdict["verdict"]) == (0, "complete") and verdict["files"]["hashed_now"] == 0  # type: ignore[index]
    assert not whole.mirror.served.of(f"{REPO}/{SHARD}")


def test_verify_json_has_the_stated_shape(whole: Lab) -> None:
    """verdict, files, bytes, problems; each problem with file, code, expected, found, remedy."""
    (whole.directory / SHARD).write_bytes(b"")
    code, verdict = command(whole, "verify", str(whole.directory))
    assert code == 1 and set(verdict) == {"verdict", "files", "bytes", "problems"}
    assert set(verdict["files"]) == set(verdict["bytes"]) == {"expected", "verified", "hashed_now"}  # type: ignore[call-overload]
    for problem in verdict["problems"]:  # type: ignore[attr-defined]
        assert set(problem) == {"file", "code", "expected", "found", "remedy"} and problem["code"] in CODES


def test_full_verification_hashes_all(whole: Lab) -> None:
    """--full hashes whatever receipts say, against the manifest beside the files."""
    code, verdict = command(whole, "verify", str(whole.directory), "--full")
    assert code == 0 and verdict["files"]["hashed_now"] == verdict["files"]["expected"]  # type: ignore[index]


def test_directory_without_a_manifest_is_unverifiable(lab: Lab) -> None:
    """No manifest beside the files and none named: 1, unverifiable."""
    code, verdict = command(lab, "verify", str(lab.source))
    assert (code, verdict["verdict"]) == (1, "unverifiable")


def test_manifest_out_of_reach_is_passing(lab: Lab) -> None:
    """The Hub is down: 6 for a verification that needs it."""
    assert command(lab, "verify", str(lab.source), "--repo", REPO, hub="http://127.0.0.1:9")[0] == 6


def test_directory_that_is_none_is_wrong_usage(lab: Lab) -> None:
    """2 for what is no directory."""
    assert command(lab, "verify", str(lab.directory / "none"))[0] == 2


def test_files_from_another_directory_are_proved_the_same(lab: Lab) -> None:
    """--from a copy: no shard comes from the Hub."""
    code, verdict = command(lab, "fetch", REPO, str(lab.directory), "--from", str(lab.source))
    assert (code, verdict["verdict"]) == (0, "complete") and not lab.mirror.served.of(f"{REPO}/{SHARD}")


def test_gated_repository_is_blocked_with_its_remedy(lab: Lab) -> None:
    """3, and the message says what to do."""
    lab.mirror.faults.add(answer_fault("gated", place="api"))
    process = start(lab, "fetch", REPO, str(lab.directory))
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 3 and "ask for access" in errors


def test_bad_upstream_says_no(lab: Lab) -> None:
    """1: the bytes are not the manifest's, twice."""
    lab.mirror.faults.add(Fault(kind="flip", path=SHARD, times=None))
    process = start(lab, "fetch", REPO, str(lab.directory))
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1 and f"HASH_MISMATCH {SHARD}" in errors
    lab.assert_no_wrong_file()


def test_interrupted_fetch_ends_with_130_and_goes_on(lab: Lab) -> None:
    """Ctrl-C keeps what came; the next call asks from there."""
    process = start(lab, "fetch", REPO, str(lab.directory), "--max-rate", "100000")

    def size() -> int:
        return size_of(lab.partial())

    wait_for(size, lambda found, _: found if found > 20_000 else None, what="bytes arrive", deadline_s=240, interval_s=0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    kept = lab.partial().stat().st_size
    assert process.returncode == 130 and kept > 20_000
    assert command(lab, "fetch", REPO, str(lab.directory))[0] == 0
    assert lab.mirror.served.of(f"{REPO}/{SHARD}")[-1].start == kept


def test_local_weights_are_recorded_and_then_verified_without_any_hub(lab: Lab) -> None:
    """--record keeps the digests of what no manifest names; from then on the directory is held against them."""
    assert command(lab, "verify", str(lab.source), hub="http://127.0.0.1:9")[0] == 1
    code, verdict = command(lab, "verify", str(lab.source), "--record", hub="http://127.0.0.1:9")
    assert (code, verdict["verdict"]) == (0, "complete") and verdict["files"]["expected"] == 3  # type: ignore[index]
    assert command(lab, "verify", str(lab.source), "--full", hub="http://127.0.0.1:9")[0] == 0


@pytest.mark.parametrize("content", [b"{}", b"no JSON", b"\xff\xfe", None])
def test_manifest_that_cannot_be_understood_is_unreadable_input(lab: Lab, content: bytes | None) -> None:
    """2 for a manifest file that is none, is no text, or is a folder."""
    path = lab.directory.parent / "manifest.json"
    path.parent.mkdir(parents=True)
    path.mkdir() if content is None else path.write_bytes(content)
    assert command(lab, "verify", str(lab.source), "--manifest", str(path))[0] == 2


def test_damaged_manifest_beside_the_files_is_unreadable_input(whole: Lab) -> None:
    """2: nothing is judged against half a manifest."""
    manifest = whole.directory / ".modelpivot" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:100])
    assert command(whole, "verify", str(whole.directory))[0] == 2


def test_copy_with_a_manifest_beside_it_needs_no_hub(whole: Lab) -> None:
    """--from a directory that was fetched: the manifest is taken from there, said so, and everything is proved."""
    target = whole.directory.parent / "second"
    words = ("fetch", REPO, str(target), "--from", str(whole.directory))
    process = start(whole, *words, "--json", hub="http://127.0.0.1:9")
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0 and json.loads(output)["verdict"] == "complete" and "the Hub was not asked" in errors
    assert command(whole, *words, "--revision", "b" * 40, hub="http://127.0.0.1:9")[0] == 6


def test_given_manifest_needs_no_hub(whole: Lab) -> None:
    """--manifest FILE with --from a plain copy: no question to the Hub; one of another repository is wrong usage."""
    target, manifest = whole.directory.parent / "second", whole.directory / ".modelpivot" / "manifest.json"
    words = (str(target), "--manifest", str(manifest), "--from", str(whole.source))
    assert command(whole, "fetch", REPO, *words, hub="http://127.0.0.1:9")[0] == 0
    assert command(whole, "fetch", "acme/other", *words, hub="http://127.0.0.1:9")[0] == 2


def test_name_that_is_no_repository_is_wrong_usage(lab: Lab) -> None:
    """2 before anything is asked."""
    assert command(lab, "fetch", "../x", str(lab.directory))[0] == 2


@pytest.mark.parametrize("words", [("fetch", REPO, "DIR"), ("verify", "DIR")])
def test_command_imports_only_what_it_uses(whole: Lab, words: tuple[str, ...]) -> None:
    """With --json and no terminal neither rich nor the Hub's library nor a recipe is imported; verify needs no network and no settings."""
    code = (
        "import sys, json\nsys.argv = ['modelpivot', *json.loads(sys.argv[1]), '--json']\n"
        "from modelpivot.cli.commands import app_for\n"
        "try:\n    app_for(sys.argv[1:])()\nexcept SystemExit as end:\n    assert not end.code\n"
        "sys.stderr.write(json.dumps(list(sys.modules)))"
    )
    given = json.dumps([word.replace("DIR", str(whole.directory)) for word in words])
    environment = {**os.environ, "MODELPIVOT_HUB_ENDPOINT": whole.mirror.base_url, "MODELPIVOT_DISK_RESERVE_BYTES": "0"}
    ended = subprocess.run([sys.executable, "-c", code, given], env=environment, capture_output=True, text=True, check=True)
    unused = {"rich.console", "httpx", "prefect", "modelpivot.models.recipe", "modelpivot.models.result", "huggingface_hub.utils"}
    unused |= {"urllib3", "pydantic_settings", "tenacity"} if words[0] == "verify" else set()
    assert not unused & set(json.loads(ended.stderr))


def quantize(lab: Lab) -> None:
    """The repository asks for an FP8 KV cache with MLA from now on."""
    (lab.source / "config.json").write_text(json.dumps(top(flat(kv_cache_scheme=FP8)), indent=2))


def test_a_patched_directory_verifies_and_a_download_patches_it_again(lab: Lab) -> None:
    """W7: verify says PATCHED and complete; fetch brings the file anew and the patch with it; reverted, it is plainly complete."""
    quantize(lab)
    assert command(lab, "fetch", REPO, str(lab.directory))[0] == 0
    fetched = (lab.directory / "config.json").read_bytes()
    code, done = command(lab, "patch", str(lab.directory), "--compute-capability", "12.0", "--engine-version", "0.15.0")
    assert (code, done["outcome"]) == (0, "patched")
    patched = (lab.directory / "config.json").read_bytes()
    for words in (("verify", str(lab.directory)), ("verify", str(lab.directory), "--full"), ("fetch", REPO, str(lab.directory))):
        code, verdict = command(lab, *words)
        assert (code, verdict["verdict"], [each["code"] for each in verdict["problems"]]) == (0, "complete", ["PATCHED"])  # type: ignore[attr-defined]
        assert (lab.directory / "config.json").read_bytes() == patched
    assert command(lab, "patch", str(lab.directory), "--revert")[0] == 0
    code, verdict = command(lab, "verify", str(lab.directory))
    assert (code, verdict["verdict"], verdict["problems"]) == (0, "complete", [])
    assert (lab.directory / "config.json").read_bytes() == fetched != patched


@pytest.mark.parametrize("is_older", [False, True])
def test_the_view_of_a_release_verifies_as_patched(whole: Lab, is_older: bool) -> None:
    """Complete, PATCHED, against its own manifest; a view of an earlier version has none, and is held against the one beside its weights."""
    view, manifest = whole.directory.parent / "release" / "view", read_manifest(whole.directory)
    assert manifest
    make_view(view, whole.directory, manifest, {"config.json": '{"patched": true}'})
    if is_older:
        (view / ".modelpivot" / "manifest.json").unlink()
    code, verdict = command(whole, "verify", str(view))
    assert (code, verdict["verdict"], [each["code"] for each in verdict["problems"]]) == (0, "complete", ["PATCHED"])  # type: ignore[attr-defined]
    (view / SHARD).unlink()
    assert command(whole, "verify", str(view))[1]["verdict"] == "incomplete"


def test_a_view_whose_weights_are_of_another_commit_is_unverifiable(whole: Lab) -> None:
    """No manifest of its own, and the one where its links lead is of something else: nothing to hold it against."""
    view, manifest = whole.directory.parent / "release" / "view", read_manifest(whole.directory)
    assert manifest
    make_view(view, whole.directory, manifest.model_copy(update={"commit": "0" * 40}), {})
    (view / ".modelpivot" / "manifest.json").unlink()
    code, verdict = command(whole, "verify", str(view))
    assert (code, verdict["verdict"]) == (1, "unverifiable")
