"""Weights that exist nowhere else: recorded with their own digest, verified against it, and named to whoever wants to free space."""

from pathlib import Path

import pytest

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.facts.stored import read_stored
from modelpivot.files import hash_file
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.weights.irreplaceable import find_irreplaceable, read_irreplaceable, record_irreplaceable
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.verify import verify_directory
from tests.weights.test_gguf import make_gguf
from tests.weights.told import Told

MERGED = "GLM-5-UD-Q4_K_XL.gguf"


@pytest.fixture
def folder(tmp_path: Path) -> WeightsFolder:
    """A directory with one merged GGUF that no repository holds."""
    directory = tmp_path / "weights" / "glm5-gguf"
    directory.mkdir(parents=True)
    make_gguf(directory / MERGED, ["a", "b"])
    return WeightsFolder(directory)


def test_local_file_is_recorded_with_its_own_digest_and_said_so(folder: WeightsFolder) -> None:
    """The record holds name, size and sha256, and a warning says what it means."""
    told = Told()
    [recorded] = record_irreplaceable(folder, None, tell=told).files
    assert (recorded.path, recorded.sha256) == (MERGED, hash_file(folder.root / MERGED))
    assert f"{MERGED} exists nowhere else that we know of" in told.warnings and "never reclaimed unasked" in told.warnings


def test_recorded_file_is_complete_against_its_record_and_corrupt_after_a_change(folder: WeightsFolder) -> None:
    """Without any Hub the record is what the file is held against."""
    record = record_irreplaceable(folder, None, tell=Told()).manifest
    assert verify_directory(folder.root, record, tell=Told()).verdict.verdict == "complete"
    content = bytearray((folder.root / MERGED).read_bytes())
    content[-1] ^= 1
    (folder.root / MERGED).write_bytes(content)
    verdict = verify_directory(folder.root, record, tell=Told()).verdict
    assert verdict.verdict == "corrupt" and {problem.code for problem in verdict.problems} == {"HASH_MISMATCH"}


def test_second_record_changes_nothing_and_hashes_nothing(folder: WeightsFolder) -> None:
    """The record and the receipt stand as they were."""
    record_irreplaceable(folder, None, tell=Told())
    before, receipts = read_irreplaceable(folder), folder.receipts.read_bytes()
    record_irreplaceable(folder, None, tell=Told())
    assert read_irreplaceable(folder) == before and folder.receipts.read_bytes() == receipts


def test_changed_file_is_not_recorded_over(folder: WeightsFolder) -> None:
    """Another digest than the recorded one is an error with both, and the record stays."""
    before = record_irreplaceable(folder, None, tell=Told())
    (folder.root / MERGED).write_bytes(b"GGUF other")
    with pytest.raises(IntegrityError, match=f"recorded with {before.files[0].sha256}"):
        record_irreplaceable(folder, None, tell=Told())
    assert read_irreplaceable(folder) == before


def test_file_that_a_manifest_names_is_replaceable(folder: WeightsFolder) -> None:
    """What the Hub can bring again is no local file; with nothing else there is nothing to record."""
    manifest = Manifest(repo="acme/glm", commit="a" * 40, files=[ManifestFile(path=MERGED, size=1, sha256="0" * 64)])
    assert find_irreplaceable(folder.root, manifest) == [] and find_irreplaceable(folder.root, None) == [MERGED]
    with pytest.raises(PreconditionError, match="found none"):
        record_irreplaceable(folder, manifest, tell=Told())


def test_links_partials_and_small_files_are_not_local_weights(folder: WeightsFolder, tmp_path: Path) -> None:
    """Only real weights files count, also those in sub-folders."""
    (folder.root / "link.gguf").symlink_to(folder.root / MERGED)
    (folder.root / "config.json").write_text("{}")
    folder.partials.mkdir(parents=True)
    (folder.partials / "x.gguf").write_bytes(b"GGUF")
    (folder.root / "part").mkdir()
    (folder.root / "part" / "adapter.safetensors").write_bytes(b"x")
    assert find_irreplaceable(folder.root, None) == [MERGED, "part/adapter.safetensors"]


def test_stored_weights_name_what_is_irreplaceable(folder: WeightsFolder) -> None:
    """Whoever reclaims reads it there, recorded or not."""
    [stored] = read_stored(folder.root.parent, [])
    assert (stored.state, stored.irreplaceable) == ("foreign", [MERGED])


def test_record_of_a_read_only_directory_lies_elsewhere(folder: WeightsFolder, tmp_path: Path) -> None:
    """Nothing is written into the directory itself."""
    elsewhere = WeightsFolder(folder.root, tmp_path / "state")
    record_irreplaceable(elsewhere, None, tell=Told())
    assert read_irreplaceable(elsewhere) is not None and sorted(path.name for path in folder.root.iterdir()) == [MERGED]
