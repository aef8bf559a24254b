"""Upgrade tests as the nightly runs them, on a real uv, a real Prefect and a real switch; the engine is the stand-in, of several versions."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from modelpivot.files import read_model
from modelpivot.host import run_command
from modelpivot.models.cutover import Cutover, ProcessId
from modelpivot.models.host import HostConfig
from modelpivot.models.result import RunResult
from modelpivot.models.upgrade import UpgradeResult
from modelpivot.recipes import read_recipe
from modelpivot.stages.upgrade import read_upgrades
from modelpivot.state.cutovers import read_cutover, read_cutover_of_run
from modelpivot.state.lock import read_lock
from modelpivot.state.releases import list_releases, read_book, read_current
from modelpivot.supervisors.process import ProcessSupervisor
from tests.flows.asked import count_events, newest_event, read_artifacts, read_flow_run
from tests.standin_wheel import build_wheel
from tests.switching import answers, wait_until
from tests.world import DEADLINES, World, make_world

WORKLOADS = [{"name": "single", "prompts": 4, "output_tokens": 8}]
SCHEME = {"num_bits": 8, "type": "float"}
PATCH = {"pointer": "/kv_cache_scheme", "expected": SCHEME, "remove": True, "why": "the engine could not do it once"}


def hours(begin: float, end: float) -> str:
    """A window from so many hours before or after now to so many."""
    return "-".join(time.strftime("%H:%M", time.gmtime(time.time() + 3600 * hour)) for hour in (begin, end))


class Nightly:
    """A host on which `old` serves from version 1.0, inside its window, and the versions that its index has."""

    def __init__(self, world: World) -> None:
        self.world, self._versions = world, 0
        world.host = world.host.model_copy(update={"window": hours(-1, 3)})
        self.inside: HostConfig = world.host

    def publish(self, **planted: Any) -> str:
        """A newer version than any before."""
        self._versions += 1
        build_wheel(self.world.root / "wheels", version := f"1.{self._versions}", **({"speed": 60.0} | planted))
        return version

    def run(self, **parameters: Any) -> tuple[RunResult, UpgradeResult]:
        """An upgrade test to its end; nobody holds the host after it, and what served before answers, from its own processes alone."""
        book = read_book(self.world.state)
        result = self.world.run("upgrade_test", **parameters)
        assert result.upgrade, self.world.tell(result)
        self.require_as_before(book.current)
        assert read_book(self.world.state).previous == book.previous
        return result, result.upgrade

    def command(self, *words: str) -> RunResult:
        """`modelpivot upgrade-test ... --json`, and the result that it prints: of the last flow that it started."""
        argv = [sys.executable, "-m", "modelpivot", "upgrade-test", "--json", *words]
        environment = {**os.environ, **self.world.environment}
        done = run_command(argv, timeout_s=400, env=environment, cwd=self.world.root, is_checked=False)
        result = RunResult.model_validate_json(done.stdout)
        assert done.returncode == result.exit_code, done.stderr
        return result

    def require_as_before(self, current: str | None) -> None:
        """The host as it was."""
        supervisor, release = ProcessSupervisor(self.world.state), read_current(self.world.state)
        assert release and release.id == current and answers(release)
        assert [one.id for one in list_releases(self.world.state) if supervisor.processes(one)] == [current]
        assert read_lock(self.world.state) is None and read_cutover(self.world.state) is None

    def switch_of(self, result: RunResult) -> Cutover:
        """The trial of a run."""
        cutover = read_cutover_of_run(self.world.state, result.run_id)
        assert cutover
        return cutover


@pytest.fixture(scope="module")
def nightly(prefect_api: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nightly]:
    """One host for all tests of this file; its model asks for an FP8 KV cache, which the recipe patches away."""
    world = make_world(tmp_path_factory.mktemp("nightly"))
    build_wheel(world.root / "wheels", speed=60.0)
    config = world.root / "hub/acme/old/config.json"
    config.write_text('{"num_hidden_layers": 8, "kv_cache_scheme": {"num_bits": 8, "type": "float"}}')
    world.recipe("old", workloads=WORKLOADS, patches=[PATCH], deadlines=DEADLINES | {"ready_s": 20})
    try:
        result = world.pivot("old")
        assert result.outcome == "promoted", world.tell(result)
        yield Nightly(world)
    finally:
        world.clean_up()
        world.hub.stop()


def test_a_version_as_good_passes_in_the_window_and_is_not_tested_twice(nightly: Nightly) -> None:
    """The recipe's model, what serves stopped once and measured when it is back; what it is passes on: packages, figures, event, the recipe to
    promote. The patch that the new version does not need is told. The same version again is no change, and stops nothing."""
    version = nightly.publish()
    result, upgrade = nightly.run()
    assert (upgrade.verdict, upgrade.candidate_version, upgrade.current_version) == ("passed", version, "1.0"), nightly.world.tell(result)
    assert (upgrade.capacity, upgrade.subject, result.exit_code) == ("window", "recipe", 0)
    assert [str(change) for change in upgrade.changes] == [f"standin-engine 1.0 -> {version} (engine)"]
    assert [(one.what, one.is_needed) for one in upgrade.relaxed] == [("the recipe's patch of config.json /kv_cache_scheme", False)]
    assert upgrade.comparison and upgrade.comparison.verdict == "passed"
    assert [step.name for step in nightly.switch_of(result).steps].count("stop old") == 1
    assert upgrade.pinned_recipe and read_recipe(str(upgrade.pinned_recipe)).engine.version == version
    event = wait_until(lambda: newest_event("modelpivot.upgrade_test.passed"), what="the verdict as an event")
    assert event["payload"]["upgrade"]["next_move"].startswith("`modelpivot run ")
    run = read_flow_run(result)
    assert run.state and run.state.name == "Passed"
    assert "Packages that move" in str(read_artifacts(run)["upgrade-old"].data)
    again, second = nightly.run()
    assert (second.verdict, again.exit_code) == ("no_change", 0)
    assert upgrade.run_id in second.message
    assert read_cutover_of_run(nightly.world.state, again.run_id) is None


def test_a_slower_one_regressed_beside_what_serves(nightly: Nightly) -> None:
    """A third less speed, planted: by turns with the current version on another port, while what serves goes on; exit 1, and two events."""
    nightly.publish(speed=40.0)
    before = count_events("modelpivot.benchmark.regressed")()
    result, upgrade = nightly.run(capacity="spare", model="recipe")
    assert (upgrade.verdict, result.exit_code, result.outcome) == ("regressed", 1, "regressed"), nightly.world.tell(result)
    assert "-33.3%" in upgrade.message and upgrade.next_move.startswith("stay on 1.0")
    trial = nightly.switch_of(result)
    assert trial.is_beside and trial.lost.lost_requests == 0
    run = read_flow_run(result)
    assert run.state and run.state.name == "Regressed" and run.state.is_failed()
    wait_until(lambda: count_events("modelpivot.benchmark.regressed")() > before, what="the event of the benchmark")


def test_one_that_does_not_start_is_told_with_its_own_words(nightly: Nightly) -> None:
    """In the window: the engine's cause lines, exit 1, FailedToStart, and what served before is back."""
    nightly.publish(fault="die_at_start")
    result, upgrade = nightly.run()
    assert (upgrade.verdict, result.exit_code) == ("failed_to_start", 1), nightly.world.tell(result)
    assert any("KeyError: 'layers.1.mlp.gate.e_score_correction_bias'" in line for line in upgrade.cause)
    run = read_flow_run(result)
    assert run.state and run.state.name == "FailedToStart"
    wait_until(count_events("modelpivot.upgrade_test.failed_to_start"), what="the verdict as an event")


def test_without_a_window_a_probe_model_is_tried_beside_what_serves(nightly: Nightly) -> None:
    """Nothing asked, no window: two of eight layers, random weights, called a probe model; a patch that is still needed is found to be."""
    nightly.publish(refuses="kv_cache_scheme")
    nightly.world.host = nightly.inside.model_copy(update={"window": None})
    try:
        result, upgrade = nightly.run()
    finally:
        nightly.world.host = nightly.inside
    assert (upgrade.verdict, upgrade.capacity, upgrade.subject) == ("passed", "spare", "probe"), nightly.world.tell(result)
    assert upgrade.model == "probe model: 2 of 8 layers of acme/old, random weights"
    assert upgrade.candidate and upgrade.candidate.startswith("old-probe-")
    assert [one.is_needed for one in upgrade.relaxed] == [True]
    config = next(one.view_dir / "config.json" for one in list_releases(nightly.world.state) if one.id == upgrade.candidate)
    assert '"num_hidden_layers": 2' in config.read_text() and "kv_cache_scheme" not in config.read_text()


def test_outside_its_window_nothing_is_stopped(nightly: Nightly) -> None:
    """Blocked, exit 3, and when it opens is said."""
    nightly.publish()
    nightly.world.host = nightly.inside.model_copy(update={"window": hours(2, 3)})
    try:
        result = nightly.world.run("upgrade_test")
    finally:
        nightly.world.host = nightly.inside
    assert (result.outcome, result.exit_code) == ("blocked", 3), nightly.world.tell(result)
    assert "OUTSIDE_WINDOW" in result.message and "it opens" in result.message
    nightly.require_as_before(result.released)


def test_a_dry_run_says_what_would_be_tried(nightly: Nightly) -> None:
    """Planned; no environment comes onto the disk."""
    version = nightly.publish()
    result = nightly.world.run("upgrade_test", dry_run=True)
    assert (result.outcome, result.exit_code) == ("planned", 0), nightly.world.tell(result)
    assert version in result.message
    assert not list(nightly.world.host.environments_root.glob(f"standin-{version}-*"))


def test_killed_in_its_window_the_host_is_as_it_was_without_anybody(nightly: Nightly) -> None:
    """SIGKILL to the whole run while the candidate loads: the switch goes back by itself, at once."""
    nightly.publish(fault="hang_loading")
    current = read_book(nightly.world.state).current
    child = nightly.world.start("upgrade_test")
    wait_until(
        lambda: (cutover := read_cutover(nightly.world.state)) and cutover.phase == "readying", what="the candidate to load", deadline_s=300
    )
    owner = read_model(child.run.owner, ProcessId)
    assert owner
    os.killpg(os.getpgid(owner.pid), signal.SIGKILL)
    wait_until(lambda: read_cutover(nightly.world.state) is None, what="the way back", deadline_s=180)
    closed = read_cutover_of_run(nightly.world.state, child.run.id)
    assert closed
    assert (closed.outcome, closed.reason) == ("returned", "the run that tried it is gone")
    wait_until(lambda: read_lock(nightly.world.state) is None, what="the host to be free")
    nightly.require_as_before(current)


def test_promote_keeps_what_regressed_away(nightly: Nightly) -> None:
    """The verdict is the command's end, exit 1: no pivot begins, what served serves."""
    nightly.publish(speed=40.0)
    current = read_book(nightly.world.state).current
    runs = set(nightly.world.state.runs.iterdir())
    result = nightly.command("--promote", "--yes", "--capacity", "spare", "--model", "recipe")
    assert (result.outcome, result.exit_code) == ("regressed", 1), nightly.world.tell(result)
    assert len(set(nightly.world.state.runs.iterdir()) - runs) == 1
    nightly.require_as_before(current)


def test_promote_makes_what_passed_current_by_an_ordinary_pivot(nightly: Nightly) -> None:
    """Two runs: the test, and a pivot to exactly what it tested; the release before is there to go back to."""
    version = nightly.publish()
    current = read_book(nightly.world.state).current
    result = nightly.command("--promote", "--yes")
    assert (result.outcome, result.exit_code) == ("promoted", 0), nightly.world.tell(result)
    book, serving = read_book(nightly.world.state), read_current(nightly.world.state)
    [upgrade] = [one for one in read_upgrades(nightly.world.state) if one.candidate_version == version]
    assert (upgrade.verdict, upgrade.candidate, book.previous) == ("passed", book.current, current)
    assert serving and answers(serving) and serving.engine_version == version
