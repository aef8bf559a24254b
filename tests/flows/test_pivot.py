"""Whole pivots on a real Hub, real uv, a real Prefect and a real switch; the engine is the stand-in."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from modelpivot.host import read_process_id
from modelpivot.models.recipe import Hooks
from modelpivot.models.result import ExitCode
from modelpivot.state.lock import acquire_lock, read_lock, release_lock
from modelpivot.state.releases import list_releases, read_book, read_current
from modelpivot.state.runs import read_events
from modelpivot.supervisors.process import ProcessSupervisor
from tests.flows.asked import count_events, read_artifacts, read_flow_run, read_task_runs, task_name
from tests.switching import wait_until
from tests.world import DEADLINES, World

ORDER = ["preflight", "plan", "install", "patch config", "check shards", "check engine", "serve", "benchmark", "gate", "promote"]
"""Tasks one after another; download runs beside install."""


def test_a_dry_run_plans_and_changes_nothing(world: World) -> None:
    """Planned: the plan is an artifact, the old model serves, nothing new is on disk, nobody holds the host."""
    book, weights = read_book(world.state), sorted(world.host.weights_root.rglob("*"))
    result = world.run("pivot", recipe="new", overrides={"skip_benchmark": True})
    assert (result.outcome, result.exit_code) == ("planned", 0), world.tell(result)
    run = read_flow_run(result)
    assert run.state and (run.state.name, run.name) == ("Planned", "new on gpu-test (dry run)")
    plan = str(read_artifacts(run)["plan-new"].data)
    assert "acme" in plan and "Skip the benchmark: yes" in plan
    assert (read_book(world.state), world.serving, read_lock(world.state)) == (book, "old", None)
    assert sorted(world.host.weights_root.rglob("*")) == weights


def test_everything_in_the_way_is_said_before_anything_is_touched(world: World) -> None:
    """A Hub that is down: Blocked, 3, the message names it, and the old model serves."""
    host = world.host
    world.host = host.model_copy(update={"hub_endpoint": "http://127.0.0.1:9"})
    try:
        result = world.pivot("new")
    finally:
        world.host = host
    assert (result.outcome, result.exit_code, result.released is not None) == ("blocked", 3, True), world.tell(result)
    assert "127.0.0.1:9" in result.message and world.serving == "old"
    run = read_flow_run(result)
    assert run.state and run.state.name == "Blocked" and run.state.is_failed() and read_lock(world.state) is None


def test_a_held_host_is_left_alone(world: World) -> None:
    """Another run holds the host: 7, HostHeld, and the message says who."""
    acquire_lock(world.state, run_id="other", what="a test")
    try:
        result = world.pivot("new")
    finally:
        release_lock(world.state)
    run = read_flow_run(result)
    assert result.exit_code == ExitCode.HELD and "a test" in result.message
    assert run.state and run.state.name == "HostHeld"


def test_a_hook_that_fails_ends_the_run_before_anything(world: World) -> None:
    """The first failing line of a before-hook counts, later ones do not run; the service is untouched and the hook's words are kept."""
    witness = world.root / "witness"
    world.recipe("hooked", repo="new", hooks={"before": ["echo no room in the rack", "false | cat", f"touch {witness}"]})
    result = world.pivot("hooked")
    assert (result.outcome, result.exit_code) == ("failed", 1), world.tell(result)
    assert result.cause == ["no room in the rack"] and not witness.exists() and world.serving == "old"


def test_a_hook_that_never_ends_is_ended(world: World) -> None:
    """Its deadline ends it with all its processes, one that it left behind with its output too: the run fails with its words, the service is untouched."""
    pid = world.root / "pid"
    hook = ["echo waiting for the rack", f"sleep 1000 & echo $! > {pid}", "setsid sleep 60 & wait"]
    world.recipe("endless", repo="new", hooks={"before": hook}, deadlines={**DEADLINES, "hooks_s": 5})
    result = world.pivot("endless")
    assert (result.outcome, result.exit_code, world.serving) == ("failed", 1, "old"), world.tell(result)
    assert "the hooks before were not over after 5 s" in result.message and result.cause == ["waiting for the rack"]
    assert read_process_id(int(pid.read_text())) is None


def test_a_hook_that_fails_after_the_promotion_takes_nothing_back(world: World) -> None:
    """Promoted, 0: the new model serves, and the hook's failure is a warning in the journal, in the report's stages and in its message."""
    world.recipe("trailed", repo="new", hooks={"after": ["echo the pager is away", "exit 3"]})
    result = world.pivot("trailed")
    assert (result.outcome, result.exit_code, world.serving) == ("promoted", 0, "trailed"), world.tell(result)
    assert "serves at" in result.message and "a hook after failed with exit code 3: the pager is away" in result.message
    assert [stage.result for stage in result.stages if stage.name == "hooks after"] == ["failed"]
    warned = [event.message for event in read_events(world.state.run(result.run_id))[0] if event.kind == "warning"]
    assert any("the pager is away" in message for message in warned)
    run = read_flow_run(result)
    assert run.state and (run.state.name, run.state.is_completed()) == ("Completed", True)


def test_a_gate_that_says_no_goes_back(world: World) -> None:
    """The stand-in cannot be measured: the run asks the switch to return, follows it, and ends RolledBack with 4; the old model answers."""
    world.recipe("unmeasured", repo="new", workloads=[{"name": "single", "prompts": 2}])
    result = world.pivot("unmeasured")
    assert (result.outcome, result.exit_code, world.serving) == ("returned", 4, "old"), world.tell(result)
    assert result.attempted and result.attempted.startswith("unmeasured-") and result.released and result.released.startswith("old-")
    assert "not promoted" in result.message and [stage.result for stage in result.stages if stage.name == "gate"] == ["failed"]
    run = read_flow_run(result)
    assert run.state and (run.state.name, run.state.is_failed()) == ("RolledBack", True) and read_lock(world.state) is None
    wait_until(count_events("prefect.flow-run.RolledBack"), what="the event that alerts are made on")


def test_a_pivot_to_what_serves_has_nothing_to_do(world: World) -> None:
    """The candidate is current and answers: NoChange, 0."""
    result = world.pivot("old")
    run = read_flow_run(result)
    assert (result.outcome, result.exit_code) == ("no_change", 0), world.tell(result)
    assert run.state and run.state.name == "NoChange"


def test_a_mended_hook_goes_into_the_record_of_what_serves(world: World) -> None:
    """NoChange, 0: the same release and the same engine, its record with the new hook; the message says so. Once more there is nothing to say."""
    before = read_current(world.state)
    assert before is not None
    engine = ProcessSupervisor(world.state).processes(before)
    world.recipe("old", hooks={"drain": ["true"]})
    try:
        result, again = world.pivot("old"), world.run("stage", recipe="old", agreed=True)
    finally:
        world.recipe("old")
    assert (result.outcome, result.exit_code) == ("no_change", 0) and "the recipe's hooks now" in result.message, world.tell(result)
    after = read_current(world.state)
    assert after == before.model_copy(update={"hooks": Hooks(drain=["true"])})
    assert ProcessSupervisor(world.state).processes(before) == engine and world.serving == "old"
    assert again.outcome == "no_change" and "hooks" not in again.message, world.tell(again)


def test_check_weights_names_what_is_not_right(world: World) -> None:
    """With a flipped byte the run fails, 1, names the file, and the shard table says what is wrong with it."""
    shard = next(iter(world.host.weights_root.glob("acme--old/*/model-00001-of-*.safetensors")))
    content = shard.read_bytes()
    shard.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    try:
        result = world.run("check_weights", recipe="old")
    finally:
        shard.write_bytes(content)
    assert (result.outcome, result.exit_code) == ("failed", 1) and shard.name in result.message, world.tell(result)
    run = read_flow_run(result)
    assert run.state and run.state.name == "WeightsCorrupt" and "HASH_MISMATCH" in str(read_artifacts(run)["shards-old"].data)


def test_stage_cutover_and_rollback_are_runs_of_their_own(world: World) -> None:
    """Staged beside the old model, served by a cutover that fetches nothing, taken back by a rollback that asks first."""
    world.recipe("apart", repo="new")
    staged = world.run("stage", recipe="apart", agreed=True)
    assert (staged.outcome, staged.exit_code, world.serving) == ("staged", 0, "old"), world.tell(staged)
    served = world.run("cutover", recipe="apart")
    assert (served.outcome, world.serving) == ("promoted", "apart"), world.tell(served)
    assert not {"install", "download"} & {stage.name for stage in served.stages}
    assert (world.run("rollback").exit_code, world.serving) == (3, "apart")
    back = world.run("rollback", agreed=True)
    assert (back.outcome, back.exit_code, world.serving) == ("rolled_back", 0, "old"), world.tell(back)
    run = read_flow_run(back)
    assert run.name == "rollback on gpu-test" and run.state and run.state.name == "Completed"
    wait_until(count_events("modelpivot.rollback.rolled_back"), what="the outcome as an event")


@pytest.mark.parametrize("what", ["moved", "away"])
def test_a_cutover_serves_what_was_staged(world: World, what: str) -> None:
    """Since then its branch moved, or the Hub went away: what was proved by day is served, and nothing else is asked for."""
    name = world.recipe(f"night-{what}", repo="new", args={"load-s": 0.2})
    staged = world.run("stage", recipe=name, agreed=True)
    assert staged.outcome == "staged", world.tell(staged)
    candidate = list_releases(world.state)[-1]
    with elsewhere(world, what):
        served = world.run("cutover", recipe=name)
    assert (served.outcome, served.released, world.serving) == ("promoted", candidate.id, name), world.tell(served)


def test_a_recipe_that_changed_since_is_not_what_was_staged(world: World) -> None:
    """Other arguments make another candidate, which is not there: Blocked before anything is touched."""
    name = world.recipe("changed", repo="new", args={"load-s": 0.1})
    staged = world.run("stage", recipe=name, agreed=True)
    assert staged.outcome == "staged", world.tell(staged)
    world.recipe(name, repo="new", args={"load-s": 0.3})
    refused = world.run("cutover", recipe=name, agreed=True)
    assert (refused.exit_code, world.serving) == (3, "old") and "not complete" in refused.message, world.tell(refused)


@contextmanager
def elsewhere(world: World, what: str) -> Iterator[None]:
    """Meanwhile `main` of acme/new stands at another commit, or no Hub answers."""
    host, readme = world.host, world.root / "hub/acme/new/README.md"
    before = readme.read_text()
    try:
        if what == "moved":
            readme.write_text("# moved\n")
        else:
            world.host = host.model_copy(update={"hub_endpoint": "http://127.0.0.1:9"})
        yield
    finally:
        world.host = host
        readme.write_text(before)


def test_outside_its_window_a_host_is_not_switched_without_a_yes(world: World) -> None:
    """Staged and proved, then Blocked with the hours: the old model serves on. With a yes the same candidate is served."""
    world.recipe("hourly", repo="new")
    host, later = world.host, time.gmtime(time.time() + 6 * 3600)
    world.host = host.model_copy(update={"window": f"{later.tm_hour:02}:00-{(later.tm_hour + 1) % 24:02}:00 UTC"})
    try:
        refused = world.run("pivot", recipe="hourly", dry_run=False)
        served = world.run("cutover", recipe="hourly", agreed=True)
    finally:
        world.host = host
    assert (refused.outcome, refused.exit_code) == ("blocked", 3) and "window" in refused.message, world.tell(refused)
    assert "view" in [stage.name for stage in refused.stages] or "check shards" in [stage.name for stage in refused.stages]
    assert (served.outcome, world.serving) == ("promoted", "hourly"), world.tell(served)


def test_a_recipe_of_ones_own_is_taken_by_its_path(world: World, tmp_path: Path) -> None:
    """The drop-down lists what comes with the project; in-process a path does as well, and a bad one is refused with file and field."""
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(
        (world.deployments / "recipes/old.yaml").read_text().replace("name: old", "name: mine", 1).replace("served_name", "serve_name")
    )
    result = world.run("plan", recipe=str(recipe))
    assert result.exit_code == ExitCode.USAGE and "serve_name" in result.message and "mine.yaml" in result.message


def test_what_serves_is_known_without_the_file_it_was_made_of(world: World, tmp_path: Path) -> None:
    """A recipe of one's own is kept beside its release: what serves is looked up there when the file is gone."""
    recipe = tmp_path / "mine.yaml"
    text = (world.deployments / "recipes/new.yaml").read_text()
    recipe.write_text(text.replace("name: new", "name: mine", 1).replace("served_name: new", "served_name: mine"))
    served = world.pivot(str(recipe))
    assert (served.outcome, world.serving) == ("promoted", "mine"), world.tell(served)
    recipe.unlink()
    result = world.run("check_weights")
    assert (result.outcome, result.exit_code) == ("checked", 0), world.tell(result)


def test_a_pivot_promotes_and_shows_every_step(world: World) -> None:
    """The new model serves; tasks, artifacts, hooks, state and report tell all of it."""
    witness = world.root / "hooks-ran"
    world.recipe("new", hooks={"before": [f"echo before >> {witness}"], "after": [f"echo after >> {witness}"]})
    result = world.pivot("new")
    assert (result.outcome, result.exit_code, world.serving) == ("promoted", 0, "new"), world.tell(result)
    assert result.base_url == f"http://127.0.0.1:{world.port}" and result.downtime_s is not None and result.lost_requests is not None
    assert result.checks and all(check.passed for check in result.checks) and witness.read_text().split() == ["before", "after"]
    run = read_flow_run(result)
    assert run.state and (run.state.name, run.name) == ("Completed", "new on gpu-test")
    assert result.flow_run_url and str(run.id) in result.flow_run_url
    beside = {"download", "hooks before", "hooks after"}
    runs = read_task_runs(run, beside.union(ORDER))
    assert all(one.state and one.state.is_completed() for one in runs)
    names = list(dict.fromkeys(task_name(one) for one in runs))
    assert [name for name in names if name in ORDER] == ORDER and set(names) - set(ORDER) == beside
    assert set(read_artifacts(run)) >= {"plan-new", "download", "shards-new", "report", "service"}
    wait_until(count_events("modelpivot.pivot.promoted"), what="the outcome as an event")
