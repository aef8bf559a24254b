"""The view: weights linked, small files real, patches in the view only."""

import stat
from pathlib import Path

import pytest

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.files import hash_file
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.verify import verify_directory
from modelpivot.weights.view import make_view
from tests.weights.conftest import SHARD, Lab
from tests.weights.told import Told


@pytest.fixture
def view(lab: Lab, tmp_path: Path) -> Path:
    """Where the view comes; the weights are there."""
    lab.fetch()
    return tmp_path / "releases" / "r1" / "view"


def test_weights_are_links_and_everything_else_is_a_file(lab: Lab, view: Path) -> None:
    """Shards follow to the fetched files; config, tokenizer and remote code are files of the view's own (E13)."""
    make_view(view, lab.directory, lab.manifest, {})
    for file in lab.manifest.files:
        entry = view / file.path
        assert entry.is_symlink() == file.path.endswith(".safetensors"), file.path
        assert entry.read_bytes() == (lab.directory / file.path).read_bytes()
        assert stat.S_IMODE(entry.stat().st_mode) & 0o444 == 0o444


def test_patched_text_stands_in_the_view_only(lab: Lab, view: Path) -> None:
    """The fetched file keeps its bytes; the view says PATCHED and is whole otherwise (W7)."""
    before = hash_file(lab.directory / "config.json")
    make_view(view, lab.directory, lab.manifest, {"config.json": '{"patched": true}'})
    assert (view / "config.json").read_text() == '{"patched": true}'
    assert hash_file(lab.directory / "config.json") == before
    verdict = verify_directory(view, lab.manifest, tell=Told()).verdict
    assert (verdict.verdict, [(problem.file, problem.code) for problem in verdict.problems]) == ("complete", [("config.json", "PATCHED")])


def test_config_changed_behind_its_patch_is_corrupt(lab: Lab, view: Path) -> None:
    """A patched file is proved too: by the digest that the patch gave it."""
    make_view(view, lab.directory, lab.manifest, {"config.json": '{"patched": true}'})
    (view / "config.json").write_text('{"patched": false}')
    assert verify_directory(view, lab.manifest, tell=Told()).verdict.verdict == "corrupt"


def test_second_call_changes_nothing(lab: Lab, view: Path) -> None:
    """Standing alike, the view is left as it is."""
    make_view(view, lab.directory, lab.manifest, {"config.json": "{}"})
    before = view.stat().st_ino
    make_view(view, lab.directory, lab.manifest, {"config.json": "{}"})
    assert view.stat().st_ino == before


def test_a_verified_view_still_stands(lab: Lab, view: Path) -> None:
    """The receipts that a verification leaves there are none of its files: it is not made again under an engine that serves from it."""
    make_view(view, lab.directory, lab.manifest, {})
    before = view.stat().st_ino
    verify_directory(view, lab.manifest, tell=Told())
    make_view(view, lab.directory, lab.manifest, {})
    assert view.stat().st_ino == before


def test_a_view_of_an_earlier_version_gets_its_manifest_and_nothing_else(lab: Lab, view: Path) -> None:
    """What verify holds it against; the view that an engine serves from is not made again for it."""
    make_view(view, lab.directory, lab.manifest, {})
    before = view.stat().st_ino
    assert read_manifest(view) == lab.manifest
    (view / ".modelpivot" / "manifest.json").unlink()
    make_view(view, lab.directory, lab.manifest, {})
    assert (read_manifest(view), view.stat().st_ino) == (lab.manifest, before)


@pytest.mark.parametrize("damage", ["extra", "gone", "link", "edited"])
def test_view_that_differs_is_made_again(lab: Lab, view: Path, damage: str) -> None:
    """Whatever was done to it, the next call puts it right, and nothing is left beside it."""
    make_view(view, lab.directory, lab.manifest, {})
    if damage == "extra":
        (view / "stranger.bin").write_text("x")
    if damage == "gone":
        (view / SHARD).unlink()
    if damage == "link":
        (view / SHARD).unlink()
        (view / SHARD).symlink_to("/dev/null")
    if damage == "edited":
        (view / "config.json").write_text("[]")
    make_view(view, lab.directory, lab.manifest, {})
    assert verify_directory(view, lab.manifest, tell=Told()).verdict.verdict == "complete"
    assert [path.name for path in view.parent.iterdir()] == ["view"]


def test_missing_shard_makes_no_view(lab: Lab, view: Path) -> None:
    """An incomplete directory is not served: no view, and nothing left behind."""
    (lab.directory / SHARD).unlink()
    with pytest.raises(IntegrityError, match=SHARD):
        make_view(view, lab.directory, lab.manifest, {})
    assert list(view.parent.iterdir()) == []


def test_patch_of_weights_or_of_nothing_is_refused(lab: Lab, view: Path) -> None:
    """Only small files of the manifest can be patched."""
    for path in (SHARD, "nothing.json"):
        with pytest.raises(PreconditionError, match=path):
            make_view(view, lab.directory, lab.manifest, {path: "x"})
