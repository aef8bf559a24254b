"""What of a manifest lies on disk, by receipts and sizes alone."""

from modelpivot.facts.weights import read_weights_on_disk
from tests.weights.conftest import SHARD, Lab, lab

__all__ = ["lab"]


def test_nothing_there_is_everything_missing(lab: Lab) -> None:
    """A directory that does not exist is read as empty, and not made."""
    found = read_weights_on_disk(lab.directory, lab.manifest)
    assert (found.present_files, found.missing_files, found.missing_bytes) == (0, len(lab.manifest.files), lab.manifest.bytes_total)
    assert not lab.directory.exists()


def test_whole_directory_misses_nothing(lab: Lab) -> None:
    """After a fetch everything is present."""
    lab.fetch()
    found = read_weights_on_disk(lab.directory, lab.manifest)
    assert (found.present_files, found.missing_files, found.missing_bytes) == (len(lab.manifest.files), 0, 0)


def test_partial_download_counts_as_there(lab: Lab) -> None:
    """Only the bytes that are still to come are missing."""
    lab.partial().parent.mkdir(parents=True)
    lab.partial().write_bytes(b"x" * 150_000)
    assert read_weights_on_disk(lab.directory, lab.manifest).missing_bytes == lab.manifest.bytes_total - 150_000


def test_touched_file_counts_as_missing_and_no_receipt_is_written(lab: Lab) -> None:
    """A fact trusts no file whose identity changed, and proves none."""
    lab.fetch()
    before = (lab.directory / ".modelpivot" / "receipts.jsonl").read_bytes()
    (lab.directory / SHARD).touch()
    assert read_weights_on_disk(lab.directory, lab.manifest).missing_files == 1
    assert (lab.directory / ".modelpivot" / "receipts.jsonl").read_bytes() == before
