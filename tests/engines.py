"""A small engine of two packages in a private index, for tests of resolving and installing: real uv, real wheels, no network."""

import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from modelpivot.facts.resolution import read_resolution
from modelpivot.models.engine import Engine, Resolution
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import EngineChoice
from tests.packages import build_wheel, publish

ENGINE = Engine(
    name="small", distribution="small-engine", module="small_engine", tested=["1.0"], requirements=["small-engine=={version}"], serve=[]
)
CHOICE = EngineChoice(name="small")


@dataclass(frozen=True)
class Index:
    """A package index in a folder."""

    root: Path

    @property
    def url(self) -> str:
        """Its address."""
        return (self.root / "simple").as_uri()

    def add(self, name: str, version: str, *, requires: list[str] | None = None, files: Mapping[str, str] | None = None) -> Path:
        """Publish a package."""
        wheel = build_wheel(self.root / "wheels", name, version, requires=requires or [], files=files)
        publish(self.root / "simple", wheel)
        return wheel

    def add_source(self, checkout: Path, name: str, version: str) -> Path:
        """Publish a package as source alone."""
        archive = self.root / "wheels" / f"{name}-{version}.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(checkout, arcname=f"{name}-{version}")
        publish(self.root / "simple", archive)
        return archive

    def forget(self, project: str) -> None:
        """Take a project's page away."""
        (self.root / "simple" / project / "index.html").unlink()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """An index with the small engine, told by pip's configuration alone; nothing else is in reach, and uv's cache is the test's own."""
    made = Index(tmp_path / "index")
    made.add("small_engine", "1.0", requires=["helper>=1", "unwanted"])
    made.add("helper", "1.0")
    made.add("unwanted", "1.0")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", made.url)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    return made


def resolve(host: HostConfig, engine: Engine = ENGINE, choice: EngineChoice = CHOICE) -> Resolution:
    """A resolution that must be one."""
    resolution = read_resolution(host, engine, choice)
    assert isinstance(resolution, Resolution), resolution
    return resolution
