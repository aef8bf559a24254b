"""Proofs on disk: when they hold, and when they are none."""

from pathlib import Path

import pytest

from modelpivot.facts.environments import environment_python, proof_file, read_answers, read_environment, read_stamp
from modelpivot.models.engine import EnvironmentProof, Resolution
from modelpivot.models.host import HostConfig
from modelpivot.operations.environment import install_environment
from tests.engines import ENGINE, Index, index, resolve
from tests.weights.told import Told

__all__ = ["index"]


@pytest.fixture
def resolution(host: HostConfig, index: Index) -> Resolution:
    """The small engine's."""
    return resolve(host)


@pytest.fixture
def proof(host: HostConfig, resolution: Resolution) -> EnvironmentProof:
    """The small engine, installed."""
    return install_environment(host, resolution, ENGINE, Told())


def test_no_environment_has_no_proof(host: HostConfig, resolution: Resolution, tmp_path: Path) -> None:
    """Nothing there is None, not an error."""
    assert read_environment(host, resolution) is None
    assert read_answers(tmp_path) is None
    assert read_stamp(tmp_path) == ""


def test_a_proof_of_another_version_of_modelpivot_is_none(host: HostConfig, resolution: Resolution, proof: EnvironmentProof) -> None:
    """A proof file that cannot be understood proves nothing, and does not stop the run."""
    proof_file(proof.path).write_text('{"proved": "once"}')
    assert read_environment(host, resolution) is None


def test_a_moved_environment_is_not_proved(host: HostConfig, resolution: Resolution, proof: EnvironmentProof) -> None:
    """Units name the real path: a copy elsewhere is another environment."""
    elsewhere = host.model_copy(update={"environments_root": host.environments_root.with_name("moved")})
    host.environments_root.rename(elsewhere.environments_root)
    assert read_environment(elsewhere, resolution) is None


def test_a_root_by_another_name_is_the_same_place(host: HostConfig, resolution: Resolution, proof: EnvironmentProof) -> None:
    """A link to the environments root: proved there too, named as it was asked for."""
    linked = host.environments_root.with_name("linked")
    linked.symlink_to(host.environments_root)
    found = read_environment(host.model_copy(update={"environments_root": linked}), resolution)
    assert found and found.path == linked / proof.path.name


def test_an_environment_without_its_interpreter_is_not_proved(host: HostConfig, resolution: Resolution, proof: EnvironmentProof) -> None:
    """The Python it was made with was removed: the link leads nowhere."""
    python = environment_python(proof.path)
    python.unlink()
    python.symlink_to("/nonexistent/python3.11")
    assert read_environment(host, resolution) is None


def test_a_package_installed_by_hand_ends_the_proof(host: HostConfig, resolution: Resolution, proof: EnvironmentProof) -> None:
    """One more dist-info, and it is no longer what was resolved."""
    site = next(proof.path.glob("lib/python3*/site-packages"))
    (site / "more-1.0.dist-info").mkdir()
    (site / "more-1.0.dist-info/RECORD").write_text("")
    assert read_environment(host, resolution) is None
