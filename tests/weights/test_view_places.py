"""Views over weights wherever they lie: a cache snapshot, a directory that is read-only, another file system, GGUF; and several over one set of shards."""

import sys
from pathlib import Path

import pytest

from modelpivot.files import hash_file, write_model
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.recipe import Patch
from modelpivot.operations.config_file import held, patch_files
from modelpivot.plans.release import model_file
from modelpivot.weights.patched import read_record
from modelpivot.weights.verify import verify_directory
from modelpivot.weights.view import is_view_right, make_view
from tests.killing import killed_at
from tests.weights.conftest import Lab
from tests.weights.test_disk import mounted, needs_namespaces
from tests.weights.test_gguf import make_gguf
from tests.weights.told import Told

PATCHED = {"config.json": '{"patched": true}'}
SHARDS = 3


def state_of(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Every file: inode, time of last change, digest."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns, hash_file(path)) for path in files}


@pytest.fixture
def fetched(lab: Lab) -> Lab:
    """The weights are there."""
    lab.fetch()
    return lab


def test_old_candidate_and_another_patch_share_the_shards_and_nothing_else(fetched: Lab, tmp_path: Path) -> None:
    """Three views over one directory: each has its own config; changing, making anew or removing one leaves the others and the weights as they are."""
    before = state_of(fetched.directory)
    views = {name: tmp_path / name / "view" for name in ("old", "candidate", "other")}
    texts = {"old": {}, "candidate": PATCHED, "other": {"config.json": "{}", "generation_config.json": "{}"}}
    for name, view in views.items():
        make_view(view, fetched.directory, fetched.manifest, texts[name])
    (views["candidate"] / "config.json").write_text("[]")
    (views["candidate"] / "tokenizer.json").unlink()
    make_view(views["candidate"], fetched.directory, fetched.manifest, {})
    assert is_view_right(views["old"], fetched.directory, fetched.manifest, {})
    assert is_view_right(views["other"], fetched.directory, fetched.manifest, texts["other"])
    assert state_of(fetched.directory) == before
    targets = [{entry.readlink() for entry in view.iterdir() if entry.is_symlink()} for view in views.values()]
    assert len(targets[0]) == SHARDS and targets[0] == targets[1] == targets[2]


def test_a_cache_snapshot_is_seen_through(fetched: Lab, tmp_path: Path) -> None:
    """Links into blobs, shards and small files alike: shards lead to their bytes, small files are real ones, blobs stay as they are."""
    blobs, snapshot = tmp_path / "hub" / "blobs", tmp_path / "hub" / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    for number, file in enumerate(fetched.manifest.files):
        blob, name = blobs / str(number), snapshot / file.path
        name.parent.mkdir(parents=True, exist_ok=True)
        (fetched.directory / file.path).rename(blob)
        name.symlink_to(Path(*[".."] * (len(Path(file.path).parts) + 1), "blobs", str(number)))
    before = state_of(blobs)
    view = tmp_path / "release" / "view"
    make_view(view, snapshot, fetched.manifest, PATCHED)
    for file in fetched.manifest.files:
        assert (view / file.path).is_symlink() == file.path.endswith(".safetensors"), file.path
    assert verify_directory(view, fetched.manifest, tell=Told()).verdict.verdict == "complete"
    assert is_view_right(view, snapshot, fetched.manifest, PATCHED) and state_of(blobs) == before


@needs_namespaces
def test_a_read_only_mount_and_another_file_system(fetched: Lab, tmp_path: Path) -> None:
    """Weights on a mount that takes no writes, the view on a file system of its own: as anywhere, and what was fetched keeps its bytes."""
    write_model(tmp_path / "manifest.json", fetched.manifest)
    script = (
        'mkdir "$1/ro" "$1/state"; mount --bind "$2" "$1/ro"; mount -o remount,bind,ro "$1/ro"; mount -t tmpfs none "$1/state"; '
        'exec "$3" -m tests.weights.view_child "$1/manifest.json" "$1/ro" "$1/state/release/view"'
    )
    found = mounted(script, str(tmp_path), str(fetched.directory), sys.executable)
    assert found == {
        "is_other_device": True,
        "is_writable": False,
        "is_right": True,
        "verdict": "complete",
        "codes": ["PATCHED"],
        "is_as_fetched": True,
    }


@pytest.mark.parametrize("parts", [1, 3])
def test_gguf_is_linked_and_named(tmp_path: Path, parts: int) -> None:
    """One file or a split one: all parts are links, and `--model` names the first."""
    names = ["m.gguf"] if parts == 1 else [f"m-{number + 1:05}-of-{parts:05}.gguf" for number in range(parts)]
    (tmp_path / "weights").mkdir()
    for number, name in enumerate(names):
        make_gguf(tmp_path / "weights" / name, [f"t{number}"], split=None if parts == 1 else (number, parts, parts))
    files = [
        ManifestFile(path=name, size=(tmp_path / "weights" / name).stat().st_size, sha256=hash_file(tmp_path / "weights" / name))
        for name in names
    ]
    manifest, view = Manifest(repo="acme/gguf", commit="a" * 40, files=files), tmp_path / "view"
    make_view(view, tmp_path / "weights", manifest, {})
    assert [(view / name).is_symlink() for name in names] == [True] * parts
    assert (view / model_file(manifest)).samefile(tmp_path / "weights" / names[0])
    assert verify_directory(view, manifest, tell=Told()).verdict.verdict == "complete"


def test_a_directory_patched_in_place_gives_a_view_of_what_was_fetched(fetched: Lab, tmp_path: Path) -> None:
    """Somebody ran `modelpivot patch` on it: the view is made of the file as it came, patched or not as its own plan says."""
    original = (fetched.directory / "config.json").read_bytes()
    with held(fetched.directory):
        patch_files(fetched.directory, {"config.json": '{"by": "hand"}'}, [])
    make_view(tmp_path / "view", fetched.directory, fetched.manifest, {})
    assert (tmp_path / "view" / "config.json").read_bytes() == original
    assert is_view_right(tmp_path / "view", fetched.directory, fetched.manifest, {})


def test_the_view_keeps_what_was_done(fetched: Lab, tmp_path: Path) -> None:
    """Digests before and after, and the patches with their reasons."""
    patch = Patch(pointer="/model_type", expected="tiny", new="small", why="a reason")
    make_view(tmp_path / "view", fetched.directory, fetched.manifest, PATCHED, [patch])
    record = read_record(tmp_path / "view")
    assert record and record.patches == [patch]
    assert record.before == {"config.json": hash_file(fetched.directory / "config.json")}
    assert record.after == {"config.json": hash_file(tmp_path / "view" / "config.json")}


def test_killed_at_any_call_the_release_has_its_old_view_or_its_new_one(fetched: Lab, tmp_path: Path) -> None:
    """Whole, one or the other, at every moment; the next call ends it and leaves nothing beside."""
    is_killed, step = True, 0
    view, weights = tmp_path / "release" / "view", fetched.directory
    few = fetched.manifest.model_copy(update={"files": [fetched.file("config.json"), fetched.file()]})
    while is_killed:
        make_view(view, weights, few, {})
        is_killed = killed_at(step, lambda: make_view(view, weights, few, PATCHED))
        assert sorted(is_view_right(view, weights, few, texts) for texts in ({}, PATCHED)) == [False, True], step
        make_view(view, weights, few, PATCHED)
        assert [path.name for path in view.parent.iterdir()] == ["view"], step
        step += 1
    assert step > 20
