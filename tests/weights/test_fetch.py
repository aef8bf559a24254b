"""Fetching without faults: whole, proved, told, and nothing twice."""

import threading
from pathlib import Path

import pytest

from modelpivot.errors import HostHeld, IntegrityError, PreconditionError
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.receipts import read_receipts, unproved_files
from modelpivot.weights.space import held
from tests.weights.conftest import SHARD, Lab


def test_everything_arrives_proved_with_manifest_and_receipts(lab: Lab) -> None:
    """Every file has the source's bytes, the manifest lies beside, and receipts prove all of it."""
    result = lab.fetch()
    lab.assert_complete()
    assert result.files == len(lab.manifest.files) and result.fetched_bytes == lab.manifest.bytes_total
    assert read_manifest(lab.directory) == lab.manifest
    assert unproved_files(WeightsFolder(lab.directory), lab.manifest) == []


def test_second_fetch_asks_for_nothing(lab: Lab) -> None:
    """With all receipts valid no request goes out."""
    lab.fetch()
    lab.mirror.served.clear()
    assert lab.fetch().files == 0
    assert lab.mirror.served.requests == []


def test_progress_is_told_on_the_callers_thread_and_ends_at_the_total(lab: Lab) -> None:
    """Progress comes from the caller's thread only, in bytes, and the last one is the whole."""
    lab.fetch()
    last = lab.told.of("progress")[-1].data
    assert lab.told.threads == {threading.get_ident()}
    assert (last["done"], last["total"], last["unit"]) == (lab.manifest.bytes_total, lab.manifest.bytes_total, "B")


def test_partial_download_goes_on_where_it_ended(lab: Lab) -> None:
    """Bytes on disk are not asked for again: the request starts at the first missing byte."""
    content = (lab.source / SHARD).read_bytes()
    lab.partial().parent.mkdir(parents=True)
    lab.partial().write_bytes(content[:150_000])
    result = lab.fetch()
    lab.assert_complete()
    assert result.resumed_bytes == 150_000
    assert [each.start for each in lab.mirror.served.of(f"acme/tiny/{SHARD}")] == [150_000]


def test_file_that_is_named_but_has_no_receipt_is_hashed_and_kept(lab: Lab) -> None:
    """A kill between rename and receipt costs a hashing, not a download."""
    lab.fetch()
    WeightsFolder(lab.directory).receipts.unlink()
    lab.mirror.served.clear()
    lab.fetch()
    assert lab.mirror.served.requests == [] and len(read_receipts(WeightsFolder(lab.directory))) == len(lab.manifest.files)


def test_wrong_file_under_a_final_name_is_replaced(lab: Lab) -> None:
    """Bytes that another tool left under the name are set aside, and the right ones fetched."""
    lab.directory.mkdir(parents=True)
    (lab.directory / SHARD).write_bytes(b"x" * lab.file().size)
    lab.fetch()
    lab.assert_complete()
    assert f"{SHARD}: the file that lay there is not the manifest's" in lab.told.warnings


def test_changed_file_is_fetched_again(lab: Lab) -> None:
    """A receipt does not outlive a change of its file."""
    lab.fetch()
    with (lab.directory / SHARD).open("r+b") as file:
        file.write(b"\xff")
    assert lab.fetch().files == 1
    lab.assert_complete()


def test_stale_partials_are_swept_and_the_needed_one_is_kept(lab: Lab) -> None:
    """What no missing file can use goes; what one can use stays and is used (D2)."""
    lab.partial().parent.mkdir(parents=True)
    lab.partial().write_bytes((lab.source / SHARD).read_bytes()[:1000])
    for number in range(3):
        (lab.partial().parent / f"old-{number}.abc.part").write_bytes(b"stale")
    assert lab.fetch().resumed_bytes == 1000
    lab.assert_complete()


def test_disk_too_small_is_said_before_the_first_byte(lab: Lab) -> None:
    """Space that must stay free counts, and nothing is asked of the Hub (D9)."""
    with pytest.raises(PreconditionError, match="bytes free"):
        lab.fetch(reserve_bytes=1 << 60)
    assert lab.mirror.served.requests == []


def test_one_fetch_at_a_time_into_a_directory(lab: Lab) -> None:
    """A second one is refused and told why."""
    lab.partial().parent.mkdir(parents=True)
    with held(WeightsFolder(lab.directory)), pytest.raises(HostHeld, match="another process fetches"):
        lab.fetch()


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/x",
        "/etc/x",
        "a\0b",
        "a\\b",
        "a//b",
        "./a",
        "..",
        "sub/../x",
        ".modelpivot/manifest.json",
        "new\nline",
        "config.json/below",
    ],
)
def test_names_that_escape_are_refused_before_anything_is_written(lab: Lab, name: str) -> None:
    """UNSAFE_PATH, and the directory was not even made (D13)."""
    bad = ManifestFile(path=name, size=1, sha256="0" * 64)
    lab.manifest = lab.manifest.model_copy(update={"files": [*lab.manifest.files, bad]})
    with pytest.raises(IntegrityError, match="UNSAFE_PATH"):
        lab.fetch()
    assert not lab.directory.exists() and lab.mirror.served.requests == []


def test_link_in_the_way_is_refused(lab: Lab, tmp_path: Path) -> None:
    """A folder of the manifest that is a link to elsewhere is not written through (D13)."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    lab.directory.mkdir(parents=True)
    (lab.directory / "figures").symlink_to(elsewhere)
    with pytest.raises(PreconditionError, match="is a link"):
        lab.fetch()
    assert list(elsewhere.iterdir()) == []


def test_link_under_a_final_name_is_replaced_and_its_target_untouched(lab: Lab, tmp_path: Path) -> None:
    """A name that is a link to a file of somebody else is replaced, never written through (D13)."""
    other = tmp_path / "other"
    other.write_bytes(b"not ours")
    lab.directory.mkdir(parents=True)
    (lab.directory / SHARD).symlink_to(other)
    lab.fetch()
    lab.assert_complete()
    assert other.read_bytes() == b"not ours" and not (lab.directory / SHARD).is_symlink()


def test_file_without_any_digest_is_refused(lab: Lab) -> None:
    """What cannot be proved is not fetched."""
    lab.manifest = Manifest(repo=lab.manifest.repo, commit=lab.manifest.commit, files=[ManifestFile(path="model.safetensors", size=3)])
    with pytest.raises(IntegrityError, match="NO_DIGEST"):
        lab.fetch()


def test_rate_is_kept(lab: Lab) -> None:
    """600 kB at 400 kB a second take at least a second."""
    assert lab.fetch(max_rate=400_000).seconds > 1.0
    lab.assert_complete()
