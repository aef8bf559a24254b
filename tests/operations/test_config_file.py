"""A file patched in place and put back: never through a link, and to the byte."""

import hashlib
from functools import partial
from pathlib import Path

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.models.recipe import Patch
from modelpivot.operations.config_file import held, patch_files, revert_files
from modelpivot.weights.patched import PatchRecord, fetched_file, read_patched, read_record
from tests.killing import killed_at

OLD, NEW = '{"a": 1,\r\n\t"b": 2}\n', '{"a": 1}\n'
PATCH = Patch(pointer="/b", expected=2, remove=True, why="test")


def identity(path: Path) -> tuple[int, int, int, bytes]:
    """Inode, mode, time of last change of the bytes, and the bytes; of the name itself."""
    stat = path.lstat()
    return stat.st_ino, stat.st_mode, stat.st_mtime_ns, path.read_bytes()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A directory with one config."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(OLD, newline="")
    return tmp_path / "model"


def put(model: Path, text: str = NEW) -> None:
    """The patch."""
    with held(model):
        patch_files(model, {"config.json": text}, [PATCH])


def back(model: Path) -> list[str]:
    """The way back."""
    with held(model):
        return revert_files(model)


def test_the_very_file_comes_back(model: Path) -> None:
    """Same inode, mode, time and bytes; nothing of ours is left."""
    before = identity(model / "config.json")
    put(model)
    assert (model / "config.json").read_text() == NEW
    assert back(model) == ["config.json"]
    assert identity(model / "config.json") == before
    assert [path.name for path in model.iterdir()] == ["config.json"]
    assert back(model) == []


def test_the_record_says_what_was_done(model: Path) -> None:
    """Digests before and after, and the patch with its reason."""
    put(model)
    record = read_record(model)
    assert record and record.patches == [PATCH]
    assert record.before == {"config.json": hashlib.sha256(OLD.encode()).hexdigest()}
    assert record.after == {"config.json": hashlib.sha256(NEW.encode()).hexdigest()} == read_patched(model)


def test_a_link_is_replaced_and_what_it_leads_to_stays(model: Path) -> None:
    """W7: the shared blob keeps inode, time and bytes; the way back makes the same link."""
    blob = model.parent / "blobs" / "abc"
    blob.parent.mkdir()
    (model / "config.json").rename(blob)
    (model / "config.json").symlink_to("../blobs/abc")
    before = identity(blob)
    put(model)
    assert not (model / "config.json").is_symlink()
    assert identity(blob) == before
    assert fetched_file(model, "config.json", read_record(model)).read_text() == OLD.replace("\r\n", "\n")
    back(model)
    assert (model / "config.json").readlink() == Path("../blobs/abc")
    assert identity(blob) == before


def test_a_link_whose_blob_went_away_comes_back_as_a_file(model: Path) -> None:
    """The bytes are kept beside, so that a cache that was cleaned costs nothing."""
    blob = model.parent / "blob"
    (model / "config.json").rename(blob)
    (model / "config.json").symlink_to(blob)
    put(model)
    blob.unlink()
    back(model)
    assert (model / "config.json").read_bytes() == OLD.encode()


def test_the_other_name_of_a_hard_link_stays(model: Path) -> None:
    """W7: another name of the same file keeps its bytes, and the two are one again after."""
    other = model.parent / "other.json"
    other.hardlink_to(model / "config.json")
    put(model)
    assert other.read_bytes() == OLD.encode()
    back(model)
    assert (model / "config.json").samefile(other)


def test_rights_are_those_of_the_file(model: Path) -> None:
    """What the engine's user could read it still can, and nobody else."""
    (model / "config.json").chmod(0o640)
    put(model)
    assert (model / "config.json").stat().st_mode & 0o777 == 0o640


def test_a_second_patch_goes_back_to_the_first_file(model: Path) -> None:
    """Both patches are recorded; the file before the first is what comes back."""
    put(model)
    put(model, "{}\n")
    assert (model / "config.json").read_text() == "{}\n"
    back(model)
    assert (model / "config.json").read_bytes() == OLD.encode()


def test_a_file_fetched_anew_is_what_comes_back(model: Path) -> None:
    """A download between two patches: the way back leads to the newer file."""
    put(model)
    (model / "config.json").unlink()
    (model / "config.json").write_text('{"b": 2, "c": 3}')
    with held(model):
        patch_files(model, {"config.json": '{"c": 3}'}, [PATCH.model_copy(update={"why": "newer"})])
    assert [patch.why for patch in (read_record(model) or PatchRecord()).patches] == ["newer"]
    back(model)
    assert (model / "config.json").read_text() == '{"b": 2, "c": 3}'


def test_a_file_that_somebody_changed_since_is_not_put_back(model: Path) -> None:
    """Their work is not thrown away: refused, with what was expected."""
    put(model)
    (model / "config.json").write_text('{"mine": true}')
    with pytest.raises(PreconditionError, match="found another"):
        back(model)
    assert (model / "config.json").read_text() == '{"mine": true}'


def test_our_own_folder_as_a_link_is_refused(model: Path) -> None:
    """What is kept would land elsewhere."""
    (model / ".modelpivot").symlink_to(model.parent)
    with pytest.raises(PreconditionError, match="found a link"):
        put(model)
    assert sorted(path.name for path in model.parent.iterdir()) == ["model"]


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize("work", ["put", "put more", "back"])
def test_killed_at_any_call_the_file_is_old_or_new(tmp_path: Path, work: str, is_link: bool) -> None:
    """Whole, one or the other; the same call again ends it, and the way back still leads to the very bytes."""
    is_killed, step = True, 0
    while is_killed:
        model = tmp_path / str(step) / "model"
        model.mkdir(parents=True)
        (model / "config.json").write_bytes(OLD.encode())
        if is_link:
            (model / "config.json").rename(model.parent / "blob")
            (model / "config.json").symlink_to("../blob")
        if work != "put":
            put(model)
        before, after = (model / "config.json").read_bytes(), {"put": NEW, "put more": "{}", "back": OLD}[work].encode()
        is_killed = killed_at(step, partial(back, model) if work == "back" else partial(put, model, after.decode()))
        assert (model / "config.json").read_bytes() in (before, after), step
        assert {path.name for path in model.iterdir()} <= {"config.json", ".modelpivot"}
        if work != "back":
            put(model, after.decode())
            assert (model / "config.json").read_bytes() == after, step
        back(model)
        assert (model / "config.json").read_bytes() == OLD.encode(), step
        assert (model / "config.json").is_symlink() == is_link
        step += 1
    assert step > 10
