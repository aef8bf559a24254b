"""Everything that can be wrong with weights on disk, each with its code, and all of it in one go."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from modelpivot.checks.rows import rows_of
from modelpivot.checks.suite import run_suite
from modelpivot.files import hash_file
from modelpivot.mirror.sending import ERROR_PAGE
from modelpivot.models.manifest import Manifest, ManifestFile, Verified
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.receipts import read_receipts
from modelpivot.weights.verify import verify_directory
from tests.weights.conftest import SHARD, Lab
from tests.weights.repos import make_shard
from tests.weights.told import Told

INDEX = "model.safetensors.index.json"


@pytest.fixture
def whole(lab: Lab) -> Lab:
    """A directory that is complete and has receipts."""
    lab.fetch()
    return lab


def verify(lab: Lab, *, is_full: bool = False) -> Verified:
    """The verdict over the lab's directory."""
    return verify_directory(lab.directory, lab.manifest, is_full=is_full, tell=Told())


def codes(verified: Verified) -> dict[str, list[str]]:
    """File -> codes."""
    found: dict[str, list[str]] = {}
    for problem in verified.verdict.problems:
        found.setdefault(problem.file, []).append(problem.code)
    return found


def republish(lab: Lab) -> None:
    """Make the manifest name what lies on disk now: digests match, content is as bad as it is (a broken upstream)."""
    files = []
    for file in lab.manifest.files:
        path = lab.directory / file.path
        files.append(ManifestFile(path=file.path, size=path.stat().st_size, sha256=hash_file(path)))
    lab.manifest = lab.manifest.model_copy(update={"files": files})


def test_complete_directory_is_proved_by_receipts_alone(whole: Lab) -> None:
    """After a fetch nothing is hashed again, and the verdict says so."""
    verdict = verify(whole).verdict
    assert (verdict.verdict, verdict.problems) == ("complete", [])
    assert (verdict.files.expected, verdict.files.verified, verdict.files.hashed_now) == (len(whole.manifest.files),) * 2 + (0,)
    assert verdict.bytes.verified == whole.manifest.bytes_total


def test_full_hashes_everything_whatever_receipts_say(whole: Lab) -> None:
    """`--full` trusts no receipt, and counts what it hashed (W1)."""
    verdict = verify(whole, is_full=True).verdict
    assert verdict.verdict == "complete" and verdict.files.hashed_now == len(whole.manifest.files)


def test_change_with_its_time_put_back_is_found(whole: Lab) -> None:
    """Same size and same mtime do not save a changed file: nobody can put its ctime back (W1)."""
    path = whole.directory / SHARD
    stat = path.stat()
    with path.open("r+b") as file:
        file.seek(5000)
        file.write(b"\x00\x01")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert codes(verify(whole)) == {SHARD: ["HASH_MISMATCH"]}


def test_table_has_a_row_for_every_file_with_tensors_and_dtypes(whole: Lab) -> None:
    """The shard table names size, digest, tensors and dtype of each file."""
    table = {row.path: row for row in verify(whole).table}
    assert set(table) == {file.path for file in whole.manifest.files}
    assert (table[SHARD].tensors, table[SHARD].dtypes, table[SHARD].is_weights) == (2, "U8", True)
    assert table[SHARD].found_digest == table[SHARD].expected_digest and table["config.json"].digest_kind == "git_oid"


def shorten(path: Path) -> None:
    os.truncate(path, 1000)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def pointer(path: Path) -> None:
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 200000\n")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)


def page(path: Path) -> None:
    path.write_bytes(ERROR_PAGE)


def json_error(path: Path) -> None:
    path.write_text('{"error":"Access to this repository is restricted"}')


@pytest.mark.parametrize(
    ("damage", "code", "verdict"),
    [
        (Path.unlink, "MISSING", "incomplete"),
        (shorten, "SIZE_MISMATCH", "corrupt"),
        (empty, "EMPTY", "corrupt"),
        (pointer, "LFS_POINTER", "corrupt"),
        (page, "ERROR_PAGE", "corrupt"),
        (json_error, "ERROR_PAGE", "corrupt"),
        (flip, "HASH_MISMATCH", "corrupt"),
    ],
)
def test_damaged_shard_has_its_code_and_remedy(whole: Lab, damage: Callable[[Path], None], code: str, verdict: str) -> None:
    """Missing, short, empty, pointer, error page and flipped bit are told apart (D4, D5, D8)."""
    damage(whole.directory / SHARD)
    found = verify(whole)
    assert found.verdict.verdict == verdict
    first = found.verdict.problems[0]
    assert (first.file, first.code) == (SHARD, code) and "fetch" in first.remedy
    assert next(row for row in found.table if row.path == SHARD).problems.split(",")[0] == code


def test_pointer_is_held_against_the_manifest(whole: Lab) -> None:
    """A pointer says which file it stands for: this very one, or another (D4)."""
    file = whole.file()
    path = whole.directory / SHARD
    path.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{file.sha256}\nsize {file.size}\n")
    assert verify(whole).verdict.problems[0].found == "a Git LFS pointer of this very file"
    pointer(path)
    assert verify(whole).verdict.problems[0].found == "a Git LFS pointer of another file"


def test_metadata_of_the_hub_library_proves_nothing(whole: Lab) -> None:
    """A truncated file with fresh metadata of the library beside it is still truncated (D5)."""
    metadata = whole.directory / ".cache" / "huggingface" / "download" / f"{SHARD}.metadata"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"{whole.manifest.commit}\n{whole.file().sha256}\n9999999999.0\n")
    shorten(whole.directory / SHARD)
    assert codes(verify(whole)) == {SHARD: ["SIZE_MISMATCH", "OFFSETS_INVALID"]}


def test_partial_folder_is_incomplete_with_every_name(tmp_path: Path) -> None:
    """119 entries, 60 files: 59 names (D6)."""
    names = [f"model-{number:05}-of-00119.safetensors" for number in range(1, 120)]
    for name in names[:60]:
        make_shard(tmp_path / name, [name], bytes_each=64)
    (tmp_path / "config.json").write_text("{}")
    files = [ManifestFile(path=name, size=64, sha256="0" * 64) for name in names[60:]]
    there = [*names[:60], "config.json"]
    files += [ManifestFile(path=name, size=(tmp_path / name).stat().st_size, sha256=hash_file(tmp_path / name)) for name in there]
    verified = verify_directory(tmp_path, Manifest(repo="acme/big", commit="a" * 40, files=files), tell=Told())
    assert verified.verdict.verdict == "incomplete"
    assert [problem.file for problem in verified.verdict.problems if problem.code == "MISSING"] == names[60:]


def test_everything_is_said_in_one_go(whole: Lab) -> None:
    """Three shards damaged in three ways: three problems from one call."""
    (whole.directory / "model-00001-of-00003.safetensors").unlink()
    flip(whole.directory / SHARD)
    pointer(whole.directory / "model-00003-of-00003.safetensors")
    assert sorted(code for each in codes(verify(whole)).values() for code in each) == ["HASH_MISMATCH", "LFS_POINTER", "MISSING"]


def test_extra_weights_are_named(whole: Lab) -> None:
    """An engine loads what lies there: weights that the manifest has not are a problem."""
    make_shard(whole.directory / "model-00004-of-00004.safetensors", ["x"], bytes_each=10)
    assert codes(verify(whole)) == {"model-00004-of-00004.safetensors": ["EXTRA_WEIGHTS"]}


def test_partial_downloads_are_named(whole: Lab) -> None:
    """Ours and those of the Hub's library, with their size."""
    library = whole.directory / ".cache" / "huggingface" / "download" / "abc.incomplete"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"x" * 5)
    whole.partial().write_bytes(b"x" * 7)
    found = verify(whole).verdict
    assert found.verdict == "incomplete" and [problem.found for problem in found.problems] == ["5 bytes", "7 bytes"]
    assert {problem.code for problem in found.problems} == {"PARTIAL_LEFT"}


def test_no_digest_cannot_be_verified(whole: Lab) -> None:
    """A manifest without digests proves nothing."""
    files = [file.model_copy(update={"sha256": None, "git_oid": None}) for file in whole.manifest.files]
    whole.manifest = whole.manifest.model_copy(update={"files": files})
    assert verify(whole).verdict.verdict == "unverifiable"


def test_empty_manifest_proves_nothing(whole: Lab) -> None:
    """Zero rows are not a pass, and neither is a manifest without weights (W9)."""
    whole.manifest = whole.manifest.model_copy(update={"files": []})
    assert verify(whole).verdict.verdict != "complete"
    whole.manifest = whole.manifest.model_copy(update={"files": [ManifestFile(path="config.json", size=1, sha256="0" * 64)]})
    assert "*" in codes(verify(whole))


def keep(lab: Lab, *names: str) -> Verified:
    """The verdict when the manifest names no file but these."""
    lab.manifest = lab.manifest.model_copy(update={"files": [file for file in lab.manifest.files if file.path in names]})
    return verify(lab)


SHARDS = tuple(f"model-{number:05}-of-00003.safetensors" for number in (1, 2, 3))


def test_shards_without_a_config_are_incomplete(whole: Lab) -> None:
    """Every byte proved, and no engine could read them: MISSING, with what to do."""
    found = keep(whole, *SHARDS, "tokenizer.json").verdict
    assert (found.verdict, [(problem.file, problem.code) for problem in found.problems]) == ("incomplete", [("config.json", "MISSING")])
    assert "model.include" in found.problems[0].remedy and found.files.verified == 3 + 1


def test_a_repository_without_a_tokenizer_is_told_and_complete(whole: Lab) -> None:
    """It may be served without; the suite over the same table passes."""
    verified = keep(whole, *SHARDS, "config.json")
    assert (verified.verdict.verdict, [problem.code for problem in verified.verdict.problems]) == ("complete", ["NO_TOKENIZER"])
    assert run_suite(rows_of(verified), expected_files=4).passed


def test_unsafe_name_in_a_manifest_is_not_even_looked_at(whole: Lab) -> None:
    """A name that leaves the directory is UNSAFE_PATH and never opened (D13)."""
    bad = ManifestFile(path="../../etc/passwd", size=1, sha256="0" * 64)
    whole.manifest = whole.manifest.model_copy(update={"files": [*whole.manifest.files, bad]})
    verified = verify(whole)
    assert codes(verified) == {"../../etc/passwd": ["UNSAFE_PATH"]} and "../../etc/passwd" not in {row.path for row in verified.table}


def test_directory_in_place_of_a_file_is_unreadable(whole: Lab) -> None:
    """What cannot be read says so instead of ending the verification."""
    (whole.directory / SHARD).unlink()
    (whole.directory / SHARD).mkdir()
    assert codes(verify(whole)) == {SHARD: ["UNREADABLE"]}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xff" * 8 + b"x" * 100, "HEADER_TOO_LARGE"),
        ((1 << 62).to_bytes(8, "little") + b"x" * 100, "HEADER_TOO_LARGE"),
        ((50).to_bytes(8, "little") + b"x" * 100, "HEADER_INVALID"),
        ((500).to_bytes(8, "little") + b"x" * 100, "HEADER_INVALID"),
        (b"abc", "HEADER_INVALID"),
    ],
)
def test_broken_upstream_has_a_matching_digest_and_no_header(whole: Lab, content: bytes, code: str) -> None:
    """Digest as the Hub says, header useless: upstream is bad, fetching again does not help (W2, W3)."""
    (whole.directory / SHARD).write_bytes(content)
    republish(whole)
    problem = next(problem for problem in verify(whole).verdict.problems if problem.file == SHARD)
    assert problem.code == code and "upstream is bad" in problem.remedy


def test_shard_cut_before_upload_has_invalid_offsets(whole: Lab) -> None:
    """Truncated upstream with a digest that fits: OFFSETS_INVALID (W3)."""
    os.truncate(whole.directory / SHARD, 150_000)
    republish(whole)
    problem = next(problem for problem in verify(whole).verdict.problems if problem.file == SHARD)
    assert problem.code == "OFFSETS_INVALID" and "upstream is bad" in problem.remedy


def rewrite_index(lab: Lab, change: Callable[[dict[str, str]], None]) -> None:
    """Change the weight map on disk, and let the manifest name it so."""
    path = lab.directory / INDEX
    document = json.loads(path.read_text())
    change(document["weight_map"])
    path.write_text(json.dumps(document))
    republish(lab)


def test_tensor_in_the_index_but_in_no_shard(whole: Lab) -> None:
    """TENSOR_MISSING with the shard and the name (W5)."""
    rewrite_index(whole, lambda weights: weights.update({"layers.9.lost": SHARD}))
    problem = verify(whole).verdict.problems[0]
    assert (problem.file, problem.code, problem.found) == (SHARD, "TENSOR_MISSING", "layers.9.lost")


def test_tensor_in_a_shard_but_not_in_the_index(whole: Lab) -> None:
    """INDEX_STALE with the name (W5)."""
    rewrite_index(whole, lambda weights: weights.__delitem__("layers.2.w0"))
    problem = verify(whole).verdict.problems[0]
    assert (problem.file, problem.code, problem.found) == (INDEX, "INDEX_STALE", "layers.2.w0")


def test_tensor_in_another_shard_than_the_index_says(whole: Lab) -> None:
    """INDEX_STALE with the name (W5)."""
    rewrite_index(whole, lambda weights: weights.update({"layers.2.w0": "model-00001-of-00003.safetensors"}))
    assert codes(verify(whole)) == {INDEX: ["INDEX_STALE"]}


def test_tensor_in_two_shards(whole: Lab) -> None:
    """TENSOR_DUPLICATE with both shards (W5)."""
    make_shard(whole.directory / SHARD, ["layers.2.w0", "layers.2.w1", "layers.1.w0"], bytes_each=100)
    republish(whole)
    problem = verify(whole).verdict.problems[0]
    assert (problem.code, problem.found) == ("TENSOR_DUPLICATE", "layers.1.w0") and SHARD in problem.expected


def test_index_that_names_a_shard_of_another_upload(whole: Lab) -> None:
    """A shard that the manifest has not is INDEX_STALE: it would be loaded without a word (W4)."""
    rewrite_index(whole, lambda weights: weights.update({"layers.4.w0": "model-00004-of-00004.safetensors"}))
    assert codes(verify(whole)) == {INDEX: ["INDEX_STALE"]}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": 1}}', '{"weight_map": {"a": "../x"}}', "{not json"]
)
def test_index_that_is_none(whole: Lab, text: str) -> None:
    """INDEX_INVALID whatever stands there instead (W5)."""
    (whole.directory / INDEX).write_text(text)
    republish(whole)
    assert codes(verify(whole)) == {INDEX: ["INDEX_INVALID"]}


def test_total_size_of_the_index_is_not_judged(whole: Lab) -> None:
    """Writers disagree about total_size: information only (W6)."""
    document = json.loads((whole.directory / INDEX).read_text())
    document["metadata"]["total_size"] = 1
    (whole.directory / INDEX).write_text(json.dumps(document))
    republish(whole)
    assert verify(whole).verdict.verdict == "complete"


def test_snapshot_of_the_hub_library_is_read_through_its_links(whole: Lab, tmp_path: Path) -> None:
    """Links into blobs are followed: a cache snapshot is verified as it is."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    snapshot.mkdir()
    shutil.copytree(whole.directory, blobs, ignore=shutil.ignore_patterns(".modelpivot"))
    for file in whole.manifest.files:
        (snapshot / file.path).parent.mkdir(exist_ok=True)
        (snapshot / file.path).symlink_to(blobs / file.path)
    verified = verify_directory(snapshot, whole.manifest, tell=Told())
    assert verified.verdict.verdict == "complete" and verified.verdict.files.hashed_now == len(whole.manifest.files)


def test_second_verification_hashes_nothing(whole: Lab) -> None:
    """A proof leaves a receipt; the next one relies on it and says that nothing was hashed (W1)."""
    WeightsFolder(whole.directory).receipts.unlink()
    assert verify(whole).verdict.files.hashed_now == len(whole.manifest.files)
    assert verify(whole).verdict.files.hashed_now == 0


def test_wrong_file_never_gets_a_receipt(whole: Lab) -> None:
    """Receipts are written by proof alone."""
    flip(whole.directory / SHARD)
    WeightsFolder(whole.directory).receipts.unlink()
    verify(whole)
    assert SHARD not in read_receipts(WeightsFolder(whole.directory))


@pytest.mark.parametrize("rest", [b"", b'{"path":"x"', b"\x00\xff\n", b'{"path": 5}\n[]\n'])
def test_torn_receipts_count_for_nothing_and_hurt_nothing(whole: Lab, rest: bytes) -> None:
    """A torn last line after a kill costs at most one hashing."""
    folder = WeightsFolder(whole.directory)
    content = folder.receipts.read_bytes()
    folder.receipts.write_bytes(content[: len(content) - 20] + rest)
    verdict = verify(whole).verdict
    assert verdict.verdict == "complete" and verdict.files.hashed_now == 1
    assert verify(whole).verdict.files.hashed_now == 0


def test_manifest_of_another_commit_is_not_satisfied_by_old_receipts(whole: Lab) -> None:
    """A receipt proves a digest, not a name: another expected digest is a mismatch."""
    files = [file.model_copy(update={"sha256": "0" * 64}) if file.path == SHARD else file for file in whole.manifest.files]
    whole.manifest = whole.manifest.model_copy(update={"files": files})
    assert codes(verify(whole)) == {SHARD: ["HASH_MISMATCH"]}
