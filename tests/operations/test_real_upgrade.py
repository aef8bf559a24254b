"""The real engine's upgrade, 0.31 to 0.32 with the same torch: its change list, kills at random moments, the second environment, switch and rollback."""

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.errors import CommandFailed, IntegrityError
from modelpivot.facts.alterations import find_alterations
from modelpivot.facts.environments import answers_file, environment_path, environment_python, proof_file, read_environment, read_stamp
from modelpivot.facts.records import find_site_packages
from modelpivot.facts.uv import read_uv
from modelpivot.host import run_command
from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.engine_change import EngineChange
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.operations.environment import install_environment
from modelpivot.operations.prove import prove_environment
from modelpivot.recipes import read_engine
from modelpivot.stages.engine_change import engine_for, plan_for_choice
from modelpivot.stages.rollback import rollback
from modelpivot.state.releases import read_book
from tests.engine_environment import (
    CACHE,
    ENGINE,
    OLDER,
    engine_environment,
    engine_host,
    engine_models,
    engine_resolution,
    older_environment,
)
from tests.operations.test_environment import start_install
from tests.switching import SwitchHost, answers, switch_host, wait_until
from tests.weights.told import Told

__all__ = ["engine_environment", "engine_host", "engine_models", "older_environment", "switch_host"]
pytestmark = [pytest.mark.engine, pytest.mark.timeout(3600)]
NEWER = read_engine(ENGINE).tested[0]
KILLS = 20


def change(host: HostConfig, version: str, environment: Path) -> EngineChange:
    """What another version would change."""
    engine, choice = engine_for([f"{ENGINE}=={version}"])
    return plan_for_choice(host, engine, choice, environment=environment, consents=[])


def test_the_change_list_back_to_the_older_version(engine_host: HostConfig, engine_environment: EnvironmentProof) -> None:
    """Exactly what moves with the engine, each with its class: down is asked about, the engine itself was asked for, torch stays."""
    made = change(engine_host, OLDER, engine_environment.path)
    found = {one.name: (one.classes, one.answer) for one in made.changes}
    assert found.pop(ENGINE) == (["engine", "downgrade"], "pass")
    assert found["huggingface-hub"] == (["downgrade", "major"], "consent")
    assert found["transformers"] == (["downgrade"], "consent")
    assert "torch" not in found
    assert made.altered == [] and made.verdict == "change"


def test_the_engine_says_what_it_sees_of_gpus(engine_environment: EnvironmentProof) -> None:
    """Asked through NVML and torch without making a CUDA context: on a machine without GPUs, none of either."""
    text = answers_file(engine_environment.path).read_text()
    assert '"cuda_context": false' in text
    assert '"gpus": null' in text


@pytest.mark.long
def test_the_change_list_of_the_upgrade(engine_host: HostConfig, older_environment: EnvironmentProof) -> None:
    """Upwards: a major version of huggingface-hub is asked about."""
    made = change(engine_host, NEWER, older_environment.path)
    found = {one.name: one for one in made.changes}
    assert (found[ENGINE].before, found[ENGINE].after, found[ENGINE].answer) == (OLDER, NEWER, "pass")
    assert found["huggingface-hub"].classes == ["major"]
    assert found["transformers"].classes == ["other"]
    assert [question.id for question in made.questions] == ["packages-major"]


@pytest.fixture
def scratch_host(engine_host: HostConfig) -> Iterator[HostConfig]:
    """A root of its own on the file system of the warm cache."""
    root = CACHE / f"scratch-environments-{os.getpid()}"
    yield engine_host.model_copy(update={"environments_root": root})
    shutil.rmtree(root, ignore_errors=True)


def is_whole(path: Path) -> bool:
    """Every file as its RECORD says, and the engine imports."""
    site = find_site_packages(path)
    asked = run_command([environment_python(path), "-c", "import vllm"], timeout_s=300, is_checked=False)
    return site is not None and find_alterations(site, is_full=True) == [] and asked.returncode == 0


@pytest.mark.long
def test_killed_at_twenty_random_moments_the_live_environment_is_untouched(
    scratch_host: HostConfig, engine_environment: EnvironmentProof
) -> None:
    """SIGKILL at random moments of real installs beside a live environment: nothing unproved is believed, no process stays, the live one keeps
    every byte, and the next run ends proved."""
    resolution, dice = engine_resolution(scratch_host), random.Random(20)
    path, site = environment_path(scratch_host, resolution), find_site_packages(engine_environment.path)
    assert site
    stamp, started = read_stamp(engine_environment.path), time.monotonic()
    assert start_install(scratch_host, resolution, read_engine(ENGINE)).wait() == 0
    took_s, kills = time.monotonic() - started, 0
    while kills < KILLS:
        proof_file(path).unlink(missing_ok=True)
        process = start_install(scratch_host, resolution, read_engine(ENGINE))
        threading.Event().wait(dice.uniform(0, took_s))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() != 0
        if read_environment(scratch_host, resolution):
            assert is_whole(path), "a proof that was written right before the kill must be true"
    assert read_stamp(engine_environment.path) == stamp
    proof = install_environment(scratch_host, resolution, read_engine(ENGINE), Told())
    assert read_environment(scratch_host, resolution) == proof.model_copy(update={"new": False})
    assert find_alterations(site, is_full=True) == []


@pytest.mark.long
def test_what_looks_installed_and_does_not_import_is_found(scratch_host: HostConfig, engine_environment: EnvironmentProof) -> None:
    """E2 on the real engine: the freeze equals the plan, a compiled part is gone or half written; the proof names the file."""
    resolution, engine = engine_resolution(scratch_host), read_engine(ENGINE)
    path = install_environment(scratch_host, resolution, engine, Told()).path
    site = find_site_packages(path)
    assert site
    part = next(site.glob("vllm/_C*.so"))
    content = part.read_bytes()
    for damage in (b"", content[: len(content) // 2]):
        part.unlink()
        part.write_bytes(damage)
        with pytest.raises((IntegrityError, CommandFailed), match=part.name):
            prove_environment(read_uv(scratch_host), scratch_host, path, resolution, engine, Told())


@pytest.mark.long
def test_a_second_environment_takes_hardly_any_disk(scratch_host: HostConfig, engine_environment: EnvironmentProof) -> None:
    """Measured after its first import: under 2 % of what one takes, since packages and compiled modules are shared with the first."""
    root = scratch_host.environments_root
    resolution, engine = engine_resolution(scratch_host), read_engine(ENGINE)
    first = install_environment(scratch_host, resolution, engine, Told()).path
    second = install_environment(scratch_host, resolution.model_copy(update={"digest": "5ec0000000"}), engine, Told()).path
    run_command([environment_python(second), "-c", "import vllm"], timeout_s=120, is_checked=False)
    alone, both = (int(run_command(["du", "-s", "--block-size=1", *where], timeout_s=60).stdout.split()[0]) for where in ([first], [root]))
    assert both - alone < 0.02 * alone


def served_by(host: SwitchHost, environment: EnvironmentProof, view: Path) -> Release:
    """A release of the tiny model from an environment."""
    engine, name = read_engine(ENGINE), f"tiny-{environment.engine_version}"
    words = ["--model", str(view), "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(host.port)]
    root = host.root / name
    root.mkdir()
    frozen = host.release(name)
    return host.write(
        frozen.model_copy(
            update={
                "environment_dir": environment.path,
                "view_dir": view,
                "engine": ENGINE,
                "engine_version": environment.engine_version,
                "endpoint": Endpoint(bind="127.0.0.1", port=host.port, served_name="tiny"),
                "deadlines": frozen.deadlines.model_copy(update={"stop_s": 30, "free_s": 30, "ready_s": 240, "ready_max_s": 600, "probe_s": 60}),
                "start": StartSpec(
                    argv=[
                        str(environment.path / "bin/python"), *engine.serve, *words,
                        "--enforce-eager", "--max-model-len", "512", "--dtype", "bfloat16",
                    ],
                    environment={**engine.serve_env, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CACHE_ROOT": str(root / "caches")},
                    working_directory=root,
                ),
            }
        )
    )  # fmt: skip


@pytest.mark.long
def test_the_real_upgrade_and_its_rollback_run_through_a_switch(
    switch_host: SwitchHost, older_environment: EnvironmentProof, engine_environment: EnvironmentProof, engine_models: dict[str, Path]
) -> None:
    """0.31 serves; the switch brings 0.32 up until it generates and is probed; the rollback brings 0.31 back, from its own environment."""
    old, new = (served_by(switch_host, environment, engine_models["old"]) for environment in (older_environment, engine_environment))
    switch_host.supervisor.start(old)
    wait_until(lambda: answers(old), what="the older engine to answer", deadline_s=300, interval_s=0.5)
    switch_host.make_current(old)
    assert switch_host.switch(old, new).outcome == "promoted"
    assert answers(new)
    back = rollback(switch_host.context())
    assert back and back.outcome == "promoted", back
    assert answers(old)
    assert read_book(switch_host.state).current == old.id
    mapped = "".join(Path(f"/proc/{process.pid}/maps").read_text() for process in switch_host.supervisor.processes(old))
    assert f"{older_environment.path.resolve()}/" in mapped and f"{engine_environment.path.resolve()}/" not in mapped
