"""The kill matrix with the real engine: vLLM on the CPU under a real systemd, cut at five points. Minutes each, so `long`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.recipe import Deadlines, Probe
from modelpivot.models.release import Release, StartSpec
from modelpivot.plans.patching import apply_patch
from modelpivot.recipes import read_engine, read_recipe
from tests.engine_environment import ENGINE, engine_environment, engine_host, engine_models
from tests.lab.sandbox import Sandbox, missing
from tests.systemd.cutting import Moment, Victims
from tests.systemd.matrix import Decision, Matrix
from tests.systemd.test_kill_matrix import show
from tests.systemd.units import Units, make_release

__all__ = ["engine_environment", "engine_host", "engine_models"]
pytestmark = [pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(2400)]

DEADLINES = Deadlines(drain_s=5, stop_s=30, free_s=30, ready_s=300, ready_max_s=600, probe_s=120, confirm_s=300)
FLAGS = ["--enforce-eager", "--max-model-len", "512", "--dtype", "bfloat16"]
POINTS: list[tuple[Moment, Decision, Victims, bool]] = [
    (Moment("event", "stop old started", "old"), "promote", "switch", False),
    (Moment("event", "ready started", "new"), "promote", "all", False),
    (Moment("event", "probe started", "new"), "promote", "all", True),
    (Moment("event", "switch log"), "promote", "all", False),
    (Moment("event", "ready started", "old"), "return", "switch", False),
]
"""The old one stops; the new one loads; it is probed (a power cut); it is unconfirmed; the old one loads again."""


class RealMatrix(Matrix):
    """The demo's two models by turns, on the real engine."""

    bound_s = 600.0

    def __init__(self, units: Units, environment: EnvironmentProof, models: dict[str, Path]) -> None:
        self._environment, self._models = environment, models
        super().__init__(units)

    def make_release(self, fault: str = "none") -> Release:
        """A release that never served; no faults but our own cuts."""
        assert fault == "none"
        self.count += 1
        name, engine = f"r{self.count}", read_engine(ENGINE)
        view = self._models[("old", "new")[self.count % 2]]
        words = [*engine.serve, "--model", str(view), "--served-model-name", name, "--host", "127.0.0.1", "--port", "8000", *FLAGS]
        variables = {**engine.serve_env, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CACHE_ROOT": f"/var/lib/modelpivot/releases/{name}/caches"}
        release = make_release(name, [])
        start = StartSpec(
            argv=[str(self._environment.path / "bin/python"), *words],
            environment=variables,
            working_directory=release.start.working_directory,
        )
        changes = {
            "start": start,
            "deadlines": DEADLINES,
            "environment_dir": self._environment.path,
            "weights_dir": view,
            "view_dir": view,
            "probes": [Probe(kind="answer", not_degenerate=False), Probe(kind="logprobs")],
        }
        return self.units.write(release.model_copy(update=changes))


def patched_view(weights: Path) -> Path:
    """The new model as the demo's recipe serves it: its files linked, its config.json patched. Beside the models, where the sandbox sees it."""
    view = weights.with_name("view-of-new")
    view.mkdir(exist_ok=True)
    for file in weights.iterdir():
        link = view / file.name
        if file.name == "config.json":
            link.write_text(apply_patch(file.read_text(), read_recipe("demo").patches[0]))
        elif not link.is_symlink():
            link.symlink_to(file)
    return view


@pytest.fixture(scope="module")
def cases(
    tmp_path_factory: pytest.TempPathFactory, engine_environment: EnvironmentProof, engine_models: dict[str, Path]
) -> Iterator[RealMatrix]:
    """One host on which the real engine serves."""
    if why := missing():
        pytest.skip(why)
    machine = Sandbox(tmp_path_factory.mktemp("real") / "one", call_s=900)
    try:
        machine.start()
        models = engine_models | {"new": patched_view(engine_models["new"])}
        yield RealMatrix(Units(machine, patience_s=600), engine_environment, models)
    finally:
        machine.forget()


@pytest.mark.parametrize("point", POINTS, ids=["stopping", "loading", "probed, power cut", "unconfirmed", "going back"])
def test_real_engine_cut(cases: RealMatrix, point: tuple[Moment, Decision, Victims, bool]) -> None:
    """One proved release of the real engine answers, alone, by itself; nothing is orphaned or deleted."""
    moment, decision, victims, is_reboot = point
    show("real engine", [cases.play(moment, decision, victims, is_reboot=is_reboot)])
