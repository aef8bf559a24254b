"""An environment packed, taken elsewhere and made again without any index: real uv, real wheels."""

import csv
import subprocess
import zipfile
from pathlib import Path

import pytest

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.facts.environments import provenance_file
from modelpivot.facts.live import read_live
from modelpivot.facts.records import find_site_packages
from modelpivot.files import read_model
from modelpivot.models.engine import Provenance
from modelpivot.models.host import HostConfig
from modelpivot.models.packages import LiveEnvironment
from modelpivot.models.recipe import EngineChoice
from modelpivot.operations.environment import install_environment
from modelpivot.operations.export import export_environment, restore_environment
from tests.engines import ENGINE, Index, index, resolve
from tests.facts.git_package import make_checkout
from tests.private_index import private_index
from tests.weights.told import Told

__all__ = ["index"]
TOOL = {
    "tool/__init__.py": "def main():\n    print('tool runs')\n",
    "tool-1.0.dist-info/entry_points.txt": "[console_scripts]\ntool = tool:main\n",
    "tool-1.0.data/scripts/toolscript": "#!python\nprint('script runs')\n",
    "tool-1.0.data/data/share/tool/notes.txt": "read me\n",
}


@pytest.fixture
def environment(host: HostConfig, index: Index, tmp_path: Path) -> Path:
    """An engine with a package that brings commands and data, and one from a git commit."""
    index.add("tool", "1.0", files=TOOL)
    checkout = make_checkout(tmp_path / "fork", "fork", "1.1.dev1", is_repository=True)
    choice = EngineChoice(name="small", extra_requirements=["tool", f"fork @ git+{checkout.as_uri()}"])
    return install_environment(host, resolve(host, choice=choice), ENGINE, Told()).path


@pytest.fixture
def elsewhere(host: HostConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostConfig:
    """Another host: nothing in its cache, no index in reach."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "elsewhere/cache"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    return host.model_copy(update={"environments_root": tmp_path / "elsewhere/environments"})


def packages(environment: Path) -> dict[str, str]:
    """What is installed."""
    found = read_live(environment, is_full=True)
    assert isinstance(found, LiveEnvironment) and found.altered == []
    return {package.name: package.version for package in found.packages}


def test_an_export_makes_the_same_environment_without_network(
    host: HostConfig, environment: Path, elsewhere: HostConfig, tmp_path: Path
) -> None:
    """Same name, same packages, every byte as recorded, commands and data in their places; proved like any other."""
    exported = export_environment(host, environment, tmp_path / "export", Told())
    assert exported.packages == 5
    proof = restore_environment(elsewhere, tmp_path / "export", ENGINE, Told())
    assert (proof.new, proof.path) == (True, elsewhere.environments_root / environment.name)
    assert packages(proof.path) == packages(environment)
    for command, said in (("tool", "tool runs\n"), ("toolscript", "script runs\n")):
        assert subprocess.run([proof.path / "bin" / command], capture_output=True, text=True, check=True).stdout == said
    assert (proof.path / "share/tool/notes.txt").read_text() == "read me\n"
    assert not restore_environment(elsewhere, tmp_path / "export", ENGINE, Told()).new


def test_the_wheels_hold_what_their_records_say(host: HostConfig, environment: Path, tmp_path: Path) -> None:
    """Every file of a wheel stands in its RECORD and the other way round; no compiled Python, no traces of the installer."""
    export_environment(host, environment, tmp_path / "export", Told())
    for path in (tmp_path / "export/wheels").iterdir():
        with zipfile.ZipFile(path) as wheel:
            names = set(wheel.namelist())
            record = next(name for name in names if name.endswith(".dist-info/RECORD"))
            assert {row[0] for row in csv.reader(wheel.read(record).decode().splitlines())} == names
        assert not [name for name in names if name.endswith((".pyc", "INSTALLER", "direct_url.json"))]


def test_what_was_changed_in_place_is_not_exported(host: HostConfig, environment: Path, tmp_path: Path) -> None:
    """The file that differs from its RECORD is named."""
    site = find_site_packages(environment)
    assert site
    (site / "helper/__init__.py").write_text("patched = True\n")
    with pytest.raises(IntegrityError, match=r"helper/__init__\.py"):
        export_environment(host, environment, tmp_path / "export", Told())


def test_an_export_goes_into_a_folder_of_its_own(host: HostConfig, environment: Path, tmp_path: Path) -> None:
    """Nothing is overwritten, and what is no environment of ours is not packed."""
    (tmp_path / "export").mkdir()
    (tmp_path / "export/mine").write_text("")
    with pytest.raises(PreconditionError, match="empty"):
        export_environment(host, environment, tmp_path / "export", Told())
    with pytest.raises(PreconditionError, match="proved environment"):
        export_environment(host, tmp_path, tmp_path / "other", Told())
    with pytest.raises(PreconditionError, match="env export"):
        restore_environment(host, tmp_path, ENGINE, Told())


def test_an_environment_tells_how_it_was_made(host: HostConfig, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asked for what, from which index (without its password), with which tools."""
    with private_index(tmp_path / "private") as served:
        served.add("small_engine", "1.0")
        monkeypatch.setenv("PIP_INDEX_URL", served.url.replace("://", "://someone:secret@"))
        path = install_environment(host, resolve(host), ENGINE, Told()).path
    made = read_model(provenance_file(path), Provenance)
    assert made and made.asked and made.asked.requirements == ["small-engine==1.0"]
    assert "uv" in made.uv and "secret" not in provenance_file(path).read_text()
    assert served.url in made.sources.values() and not made.is_rebuilt
