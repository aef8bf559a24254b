"""The environment that serves, as it lies on disk: packages, and what people changed in place."""

import os
from pathlib import Path

import pytest

from modelpivot.facts.alterations import find_alterations
from modelpivot.facts.live import read_live
from modelpivot.facts.records import find_site_packages
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.packages import LiveEnvironment
from modelpivot.operations.environment import install_environment
from tests.engines import ENGINE, Index, index, resolve
from tests.weights.told import Told

__all__ = ["index"]


@pytest.fixture
def environment(host: HostConfig, index: Index) -> Path:
    """The small engine, as uv installed it."""
    return install_environment(host, resolve(host), ENGINE, Told()).path


@pytest.fixture
def site(environment: Path) -> Path:
    """Its site-packages."""
    found = find_site_packages(environment)
    assert found
    return found


def live(environment: Path, *, is_full: bool = False) -> LiveEnvironment:
    """A reading that must succeed."""
    found = read_live(environment, is_full=is_full)
    assert isinstance(found, LiveEnvironment), found
    return found


def test_what_an_installer_left_is_as_published(environment: Path) -> None:
    """Packages by name and version, nothing altered, by the quick look and the full one; compiled Python is nobody's change."""
    os.spawnl(os.P_WAIT, str(environment / "bin/python"), "python", "-c", "import helper")
    for found in (live(environment), live(environment, is_full=True)):
        assert [(one.name, one.version) for one in found.packages] == [("helper", "1.0"), ("small-engine", "1.0"), ("unwanted", "1.0")]
        assert found.altered == []


def test_a_file_changed_in_place_is_named(environment: Path, site: Path) -> None:
    """By an editor (same size, later), by a shorter text, by removal, by a file of one's own beside the package's."""
    same_size = site / "helper/__init__.py"
    same_size.write_text(same_size.read_text().replace("1.0", "9.9"))
    (site / "small_engine/__init__.py").write_text("")
    (site / "unwanted/__init__.py").unlink()
    (site / "helper/patched_kernels.py").write_text("")
    assert live(environment).altered == [
        "helper/__init__.py",
        "helper/patched_kernels.py (added)",
        "small_engine/__init__.py",
        "unwanted/__init__.py (gone)",
    ]


def test_a_change_that_hides_its_time_is_found_by_the_full_look(environment: Path, site: Path) -> None:
    """Same size and the old time: the quick look, which says that it is one, passes it; hashing does not."""
    path = site / "helper/__init__.py"
    before = path.stat()
    path.write_text(path.read_text().replace("1.0", "9.9"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    quick, full = live(environment), live(environment, is_full=True)
    assert (quick.altered, quick.is_full) == ([], False)
    assert (full.altered, full.is_full) == (["helper/__init__.py"], True)


def test_touched_files_with_the_same_bytes_are_no_change(environment: Path, site: Path) -> None:
    """A copied environment has new times everywhere: what differs by time alone is hashed, and is the same."""
    for path in site.rglob("*.py"):
        path.touch()
    assert live(environment).altered == []


def test_what_is_no_environment_is_unread(tmp_path: Path) -> None:
    """A folder, a file, nothing: the reason names the path."""
    for path in (tmp_path, tmp_path / "nothing"):
        found = read_live(path)
        assert isinstance(found, Unread) and str(path) in found.unread


def test_half_removed_packages_are_passed_over(environment: Path, site: Path) -> None:
    """A dist-info without METADATA is no package; a broken direct_url.json is an address of unknown kind."""
    (site / "ghost-1.0.dist-info").mkdir()
    (site / "helper-1.0.dist-info/direct_url.json").write_text("{broken")
    found = {package.name: package.origin for package in live(environment).packages}
    assert found == {"helper": "address", "small-engine": "index", "unwanted": "index"}


def test_names_in_records_are_compared_as_paths(tmp_path: Path) -> None:
    """A RECORD with a long way round to its own file does not make it a stranger."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.py").write_text("")
    (tmp_path / "x.dist-info").mkdir()
    (tmp_path / "x.dist-info/RECORD").write_text("a/../a/b.py,,\n")
    assert find_alterations(tmp_path, is_full=False) == []
