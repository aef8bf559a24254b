"""Installed files against their RECORDs: uv's own installation, then changed."""

from pathlib import Path

from modelpivot.facts.records import find_altered, parse_record
from modelpivot.models.host import HostConfig
from modelpivot.operations.environment import install_environment
from tests.engines import ENGINE, Index, index, resolve
from tests.weights.told import Told

__all__ = ["index"]


def test_what_uv_installed_is_as_recorded_and_what_was_changed_is_named(host: HostConfig, index: Index) -> None:
    """Untouched: nothing. One file edited (its hard links replaced, as an editor does), one gone: both, by name."""
    environment = install_environment(host, resolve(host), ENGINE, Told()).path
    assert find_altered(environment) == []
    site = next(environment.glob("lib/python3*/site-packages"))
    edited = site / "helper/__init__.py"
    edited.unlink()
    edited.write_text("VERSION = 'patched in place'\n")
    (site / "unwanted/__init__.py").unlink()
    helper, unwanted = find_altered(environment)
    assert str(edited) in helper
    assert "No such file" in unwanted


def test_rows_without_a_digest_are_passed_over() -> None:
    """RECORD itself, compiled Python, blank lines; names with commas are quoted."""
    lines = ['"a,b.py",sha256=AAAA,3\n', "a.pyc,,\n", "x.dist-info/RECORD,,\n", "\n"]
    (only,) = parse_record(Path("/s"), lines)
    assert (only.path, only.kind, only.digest) == (Path("/s/a,b.py"), "sha256", "000000")


def test_a_digest_that_is_none_is_named(tmp_path: Path) -> None:
    """A broken RECORD, or a kind of digest that Python does not know, is a finding and no exception."""
    site = tmp_path / "lib/python3.11/site-packages"
    (site / "x.dist-info").mkdir(parents=True)
    (site / "x.py").write_text("")
    (site / "x.dist-info/RECORD").write_text("x.py,sha256=!,0\nx.py,rot13=AAAA,0\n")
    assert len(find_altered(tmp_path)) == 2
    assert find_altered(tmp_path / "nothing") == [f"{tmp_path / 'nothing'}: no site-packages"]
