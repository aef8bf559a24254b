"""Trees read by descriptors, and their names spelled."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelpivot.facts.trees import TreeRefused, digest_tree, opened, opened_parent, read_tree, summarize
from modelpivot.models.spelled import spell, unspell


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_every_name_is_spelled_on_one_line_and_read_back(name: bytes) -> None:
    """Any bytes: the text is UTF-8, has no line end and no control character, and stands for this name alone."""
    text = spell(os.fsdecode(name))
    assert os.fsencode(unspell(text)) == name
    assert text.isprintable() or not any(ord(char) < 32 for char in text)
    assert len(text.encode().splitlines()) == 1


def test_a_move_of_the_whole_changes_no_digest(tmp_path: Path) -> None:
    """What is moved aside is known again; what is written to is not."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_text("x")
    with opened(tmp_path) as root:
        before = digest_tree(read_tree(root, "a"))
        (tmp_path / "a").rename(tmp_path / "z")
        assert digest_tree(read_tree(root, "z")) == before
        os.utime(tmp_path / "z/b/c", ns=(1, 1))
        assert digest_tree(read_tree(root, "z")) != before


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "a//b", "./a", "link/x"])
def test_a_name_that_leaves_its_root_is_refused(tmp_path: Path, name: str) -> None:
    """Every part is one plain name, opened below the one before it and never through a link."""
    (tmp_path / "root/a/b").mkdir(parents=True)
    (tmp_path / "root/link").symlink_to(tmp_path)
    (tmp_path / "x").write_text("x")
    with opened(tmp_path / "root") as root, pytest.raises(TreeRefused), opened_parent(root, name) as (parent, last):
        read_tree(parent, last)


def test_figures(tmp_path: Path) -> None:
    """Bytes on disk, hard links counted once, and freed only where no name is left elsewhere."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t/one").write_bytes(b"1" * 100_000)
    (tmp_path / "t/shared").write_bytes(b"2" * 50_000)
    os.link(tmp_path / "t/one", tmp_path / "t/again")
    os.link(tmp_path / "t/shared", tmp_path / "elsewhere")
    with opened(tmp_path) as root:
        part = summarize("t", read_tree(root, "t"))
    assert part.files == 3 and 150_000 <= part.size_bytes < 180_000
    assert part.size_bytes - part.frees_bytes == os.stat(tmp_path / "elsewhere").st_blocks * 512  # noqa: PTH116
