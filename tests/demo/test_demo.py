"""The demo for real: real vLLM on the CPU, real Prefect, real uv, a Hub on loopback. One chain, each test goes on where the one before ended.

Killed at three moments (download, between stop and ready, benchmark), it goes on and ends promoted; broken, it ends switched back.
"""

from collections.abc import Iterator

import pytest

from modelpivot.models.manifest import Manifest
from modelpivot.waiting import wait_for
from modelpivot.weights.manifest import read_manifest
from tests.demo.playing import Demo, is_switch_alive

pytestmark = [pytest.mark.engine, pytest.mark.prefect]

HALF = 0.3


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """The demo's folder, ended when the chain is over."""
    made = Demo()
    yield made
    made.end()


def manifest_of_new(demo: Demo) -> Manifest:
    """What was fetched for the new model."""
    (directory,) = (demo.places.root / "weights" / "demo--new-deepseek").iterdir()
    manifest = read_manifest(directory)
    assert manifest is not None
    return manifest


def test_killed_in_the_download_the_old_model_answers(demo: Demo) -> None:
    """SIGKILL of everything while shards come in: the old release serves, no switch is open, nothing of the run is left."""
    process = demo.start()
    demo.wait(process, lambda: download_share(demo) > HALF, "a third of the download")
    demo.kill_all_but_switch(process)
    assert demo.cutover() is None
    assert demo.answers() == demo.current()
    assert str(demo.current()).startswith("demo-old-")


def download_share(demo: Demo) -> float:
    """How much of the weights has come, 0..1, as the journal tells."""
    told = [event.data for event in demo.events() if event.stage == "download" and event.kind == "progress"]
    done, total = (told[-1].get("done"), told[-1].get("total")) if told else (0, 1)
    return float(done) / float(total) if isinstance(done, int | float) and isinstance(total, int | float) and total else 0.0


def test_killed_between_stop_and_ready_the_switch_brings_the_new_model_up(demo: Demo) -> None:
    """SIGKILL of everything but switch and engine while nothing serves: with no second run one proved model answers."""
    process = demo.start()
    demo.wait(process, lambda: demo.phase() in ("starting", "readying"), "the new engine to start")
    demo.kill_all_but_switch(process)
    assert is_switch_alive(demo.cutover())
    wait_for(
        lambda: demo.cutover(),
        lambda now, _: True if now is None or now.phase == "unconfirmed" else None,
        what="the switch",
        deadline_s=300,
    )
    assert demo.answers().startswith("demo-")
    assert not demo.answers().startswith("demo-old-")


def test_a_further_run_takes_the_open_switch_up_and_killed_in_the_benchmark_one_model_answers(demo: Demo) -> None:
    """The next run goes on with the benchmark; killed there, the new model serves on, unconfirmed, and the switch waits."""
    process = demo.start()
    demo.wait(process, lambda: any(event.stage == "benchmark" and event.kind == "started" for event in demo.events()), "the benchmark")
    demo.kill_all_but_switch(process)
    cutover = demo.cutover()
    assert cutover is not None
    assert (cutover.phase, is_switch_alive(cutover)) == ("unconfirmed", True)
    assert demo.answers() == cutover.to_release


def test_a_further_run_ends_promoted_and_fetched_no_shard_twice(demo: Demo) -> None:
    """The run after three kills promotes; over all of them no shard went over the wire twice."""
    code, result = demo.play()
    assert (code, result.outcome) == (0, "promoted")
    assert demo.answers() == result.released == demo.current()
    assert result.benchmark
    assert (result.benchmark[0].output_tokens_per_s or 0) > 0
    assert result.flow_run_id
    assert all(check.passed for check in result.checks)
    sent = demo.mirror.served.bytes_by_file()
    for file in manifest_of_new(demo).files:
        if file.path.endswith(".safetensors"):
            assert sent[f"demo/new-deepseek/{file.path}"] < 2 * file.size, file.path


def test_a_benchmark_under_its_floor_goes_back(demo: Demo) -> None:
    """`--fail bench` after a finished demo starts again from the old model, and ends with it answering: exit 4."""
    assert_switched_back(demo, "bench")


@pytest.mark.parametrize("point", ["ready", "probe"])
def test_a_new_model_that_breaks_goes_back(demo: Demo, point: str) -> None:
    """`--fail ready` and `--fail probe` end with the old model answering: exit 4."""
    assert_switched_back(demo, point)


def assert_switched_back(demo: Demo, point: str) -> None:
    """Exit 4, the old release current and answering, the attempted one named, its own words kept."""
    code, result = demo.play("--fail", point)
    assert (code, result.outcome, result.exit_code) == (4, "returned", 4), result
    assert demo.answers() == result.released == demo.current()
    assert str(result.released).startswith("demo-old-")
    assert result.attempted
    assert result.attempted.startswith("demo-")
    assert result.message
