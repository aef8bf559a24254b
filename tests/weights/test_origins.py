"""Files from somewhere else than the Hub, proved against the same manifest: a directory, a cache of the Hub's library, a neighbour."""

import shutil
from pathlib import Path

import pytest
from huggingface_hub import snapshot_download

from modelpivot.mirror.server import Mirror
from modelpivot.models.manifest import weights_directory
from modelpivot.weights.layout import WeightsFolder
from tests.weights.conftest import REPO, SHARD, Lab


def shards_from_hub(lab: Lab) -> int:
    """Bytes of shards that the Hub served."""
    return sum(lab.served(file.path) for file in lab.manifest.files if file.path.endswith(".safetensors"))


def test_directory_with_the_files_serves_all_of_them(lab: Lab) -> None:
    """A plain copy is read, and the Hub is not asked for a byte."""
    lab.fetch(origin=str(lab.source))
    lab.assert_complete()
    assert lab.mirror.served.requests == []


def test_weights_root_of_another_host_is_understood(lab: Lab, tmp_path: Path) -> None:
    """A mount of another host's weights root: the folder of this commit is found in it."""
    there = weights_directory(tmp_path / "mount", lab.manifest.repo, lab.manifest.commit)
    shutil.copytree(lab.source, there)
    lab.fetch(origin=str(tmp_path / "mount"))
    lab.assert_complete()
    assert lab.mirror.served.requests == []


def test_cache_of_the_hub_library_is_understood(lab: Lab, tmp_path: Path) -> None:
    """Links into blobs in the library's own layout are followed."""
    snapshot_download(REPO, endpoint=lab.mirror.base_url, cache_dir=tmp_path / "cache", token=False)
    lab.mirror.served.clear()
    lab.fetch(origin=str(tmp_path / "cache"))
    lab.assert_complete()
    assert lab.mirror.served.requests == []


def test_neighbour_serves_its_weights_root(lab: Lab, tmp_path: Path) -> None:
    """A mirror over another host's weights root serves the commit that lies there, as the Hub would."""
    there = weights_directory(tmp_path / "roots", lab.manifest.repo, lab.manifest.commit)
    first = Lab(lab.mirror, lab.source, there, lab.manifest)
    first.fetch()
    lab.mirror.served.clear()
    with Mirror(tmp_path / "roots") as neighbour:
        lab.fetch(origin=neighbour.base_url)
    lab.assert_complete()
    assert lab.mirror.served.requests == []


def test_neighbour_never_sees_the_token(lab: Lab, tmp_path: Path) -> None:
    """The user's token is for the Hub."""
    shutil.copytree(lab.source, tmp_path / "other" / REPO)
    with Mirror(tmp_path / "other") as neighbour:
        lab.fetch(origin=neighbour.base_url)
        assert neighbour.served.requests and not any(each.has_token for each in neighbour.served.requests)


@pytest.mark.parametrize("damage", ["missing", "short", "pointer", "flipped"])
def test_what_the_other_place_has_not_or_has_wrong_comes_from_the_hub(lab: Lab, tmp_path: Path, damage: str) -> None:
    """One bad shard there: told, taken from the Hub; the others still come from there."""
    copy = tmp_path / "copy"
    shutil.copytree(lab.source, copy)
    bad = copy / SHARD
    if damage == "missing":
        bad.unlink()
    if damage == "short":
        bad.write_bytes(bad.read_bytes()[:1000])
    if damage == "pointer":
        bad.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 200000\n")
    if damage == "flipped":
        bad.write_bytes(b"\x00" + bad.read_bytes()[1:])
    lab.fetch(origin=str(copy))
    lab.assert_complete()
    assert shards_from_hub(lab) == lab.file().size
    assert SHARD in lab.told.warnings


def test_neighbour_that_is_down_does_not_stop_the_fetch(lab: Lab) -> None:
    """Nothing listens there: after a few tries everything comes from the Hub."""
    lab.fetch(origin="http://127.0.0.1:9")
    lab.assert_complete()
    assert "127.0.0.1:9" in lab.told.warnings


def test_receipts_of_another_place_prove_nothing_here(lab: Lab, tmp_path: Path) -> None:
    """What is copied with our own folder beside it is hashed all the same."""
    other = Lab(lab.mirror, lab.source, tmp_path / "other", lab.manifest)
    other.fetch()
    shutil.copytree(other.directory, lab.directory, copy_function=shutil.copy)
    (lab.directory / SHARD).write_bytes(b"\x00" + (lab.directory / SHARD).read_bytes()[1:])
    lab.fetch()
    lab.assert_complete()
    assert WeightsFolder(lab.directory).receipts.exists() and lab.served() == 2 * lab.file().size
