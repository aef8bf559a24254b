"""A whole small world for real flows: a Hub with two models, recipes and an engine of its own, one host, real uv and a real Prefect."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from modelpivot.flow_child import FlowChild
from modelpivot.host import is_alive
from modelpivot.mirror.server import Mirror
from modelpivot.models.host import HostConfig
from modelpivot.models.result import RunResult
from modelpivot.settings import to_environment
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases
from modelpivot.state.runs import new_run_id
from modelpivot.supervisors.process import ProcessSupervisor
from tests.ports import free_port
from tests.standin_wheel import build_wheel
from tests.weights.repos import make_repo

PROJECT = Path(__file__).parents[1]
ENGINES = {
    "standin": {
        "distribution": "standin-engine",
        "module": "standin_engine",
        "tested": ["1.0"],
        "requirements": ["standin-engine=={version}"],
        "device": "cpu",
        "serve": ["-m", "standin_engine"],
    }
}
DEADLINES = {"drain_s": 5, "stop_s": 5, "free_s": 30, "ready_s": 30, "ready_max_s": 90, "probe_s": 30, "confirm_s": 600}
"""Of a machine on which a Python may take many seconds to start, and a run as many to take up the switch of another one; no test waits for their end."""


@dataclass
class World:
    """One host in a folder, with everything that a pivot reaches for."""

    root: Path
    hub: Mirror
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.host = HostConfig(
            name="gpu-test",
            weights_root=self.root / "weights",
            environments_root=self.root / "engines" / "environments",
            state_dir=self.root / "state",
            supervisor="process",
            hub_endpoint=self.hub.base_url,
            disk_reserve_bytes=0,
            port=self.port,
        )
        self.state = StatePaths(self.host.state_dir)
        self.deployments = self.root / "deployments"
        (self.deployments / "recipes").mkdir(parents=True)
        (self.deployments / "engines.yaml").write_text(yaml.safe_dump(ENGINES))
        build_wheel(self.root / "wheels")
        for name in ("old", "new"):
            self.recipe(name)

    def recipe(self, name: str, **changes: Any) -> str:
        """A recipe `name` for the repository acme/<name>, in the drop-down of this world's forms."""
        recipe: dict[str, Any] = {
            "name": name,
            "model": {"repo": f"acme/{changes.pop('repo', name)}"},
            "engine": {"name": "standin"},
            "serve": {"served_name": name, "args": changes.pop("args", {})},
            "workloads": [],
            "deadlines": DEADLINES,
            **changes,
        }
        (self.deployments / "recipes" / f"{name}.yaml").write_text(yaml.safe_dump(recipe))
        return name

    @property
    def environment(self) -> dict[str, str]:
        """Variables of every process in this world beside the host's own: packages only from the wheel folder."""
        return {
            **to_environment(self.host),
            "MODELPIVOT_DEPLOYMENTS": str(self.deployments),
            "UV_FIND_LINKS": str(self.root / "wheels"),
            "UV_NO_INDEX": "1",
            "UV_CACHE_DIR": str(self.root / "engines" / "cache"),
        }

    def start(self, flow: str, **parameters: Any) -> FlowChild:
        """A flow in a process of its own, as commands start it."""
        return FlowChild(self.host, flow, parameters, new_run_id(flow), env=self.environment)

    def run(self, flow: str, **parameters: Any) -> RunResult:
        """A flow to its end."""
        return self.start(flow, **parameters).follow(lambda _: None)

    def pivot(self, recipe: str, **parameters: Any) -> RunResult:
        """A whole pivot, followed to its end."""
        return self.run("pivot", recipe=recipe, dry_run=False, agreed=True, **parameters)

    def tell(self, result: RunResult) -> str:
        """A result with the flow's own output, for a test that fails."""
        log = self.state.run(result.run_id).log("flow")
        return f"{result.model_dump_json(indent=1)}\n{log.read_text()[-6000:] if log.exists() else 'no log'}"

    @property
    def serving(self) -> str | None:
        """Name of the model that answers now, asked over its API; None: nothing answers."""
        try:
            models = httpx.get(f"http://127.0.0.1:{self.port}/v1/models", timeout=30).json()
        except httpx.HTTPError:
            return None
        return str(models["data"][0]["id"])

    def clean_up(self) -> None:
        """End every engine of this host; a switch that is open ends with its engine."""
        cutover = read_cutover(self.state)
        if cutover and cutover.switch and is_alive(cutover.switch):
            os.kill(cutover.switch.pid, 9)
        supervisor = ProcessSupervisor(self.state)
        for release in list_releases(self.state):
            supervisor.stop(release, timeout_s=0.5)


def make_world(root: Path, *, shard_bytes: int = 20_000) -> World:
    """A world in `root`, its Hub started and empty but for the models old and new."""
    for number, name in enumerate(("old", "new"), start=2):
        make_repo(root / "hub", f"acme/{name}", shards=number, bytes_each=shard_bytes)
    return World(root, Mirror(root / "hub").start())


@pytest.fixture(scope="session")
def served_world(prefect_api: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world in which the model `old` was pivoted to for real and serves. Tests leave `old` or `new` serving."""
    world = make_world(tmp_path_factory.mktemp("world"))
    try:
        result = world.pivot("old")
        assert result.outcome == "promoted", world.tell(result)
        yield world
    finally:
        world.clean_up()
        world.hub.stop()
