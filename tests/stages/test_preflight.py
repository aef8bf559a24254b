"""Preflight: everything is read at once, in a short time, and nothing is changed."""

import os
import time
from pathlib import Path

import pytest

from modelpivot.errors import CommandFailed, PivotError
from modelpivot.facts.everything import DEADLINE_S, read_facts, read_host_facts, read_own_pids
from modelpivot.facts.model import read_kept_manifest
from modelpivot.facts.reading import Reading
from modelpivot.models.engine import Resolution
from modelpivot.models.frozen import Unread
from modelpivot.models.manifest import Manifest
from modelpivot.recipes import read_engine
from modelpivot.stages.preflight import preflight
from modelpivot.supervisors.systemctl import is_systemd_here
from modelpivot.weights.layout import WeightsFolder
from tests.lab.sandbox import UNABLE
from tests.stages.deciding import Desk, entries
from tests.switching import SwitchHost


def test_all_facts_are_there(desk: Desk) -> None:
    """Commit, files, resolution, disks, listeners, uv: nothing is unread on a whole host; how long it took is told."""
    facts = preflight(desk.context, desk.recipe())
    assert isinstance(facts.model.manifest, Manifest)
    assert isinstance(facts.engine.resolution, Resolution)
    assert not any(isinstance(disk, Unread) for disk in facts.host.disks)
    assert isinstance(facts.host.listeners, list)
    assert not isinstance(facts.host.tools["uv"], Unread)
    assert facts.read_s > 0
    assert desk.words("preflight") == ["started", "finished"]


def test_reading_changes_nothing(desk: Desk) -> None:
    """Beside uv's cache and the run's own folder no name appears on the host."""
    recipe = desk.recipe()
    before = entries(desk.world.root)
    preflight(desk.context, recipe)
    new = {name for name in entries(desk.world.root) - before if not name.startswith(("engines/cache", "state/runs"))}
    assert new == {"engines"}  # the cache's folder


def test_a_pinned_commit_is_known_from_disk_when_the_hub_is_down(desk: Desk) -> None:
    """Manifest and config come from the directory; a branch cannot be known without the Hub."""
    plan = desk.fetched()
    assert plan.manifest
    desk.world.hub.stop()
    pinned = desk.recipe("pinned", model={"repo": "acme/new", "revision": plan.manifest.commit})
    facts = preflight(desk.context, pinned)
    assert facts.model.manifest == plan.manifest
    assert not isinstance(facts.model.on_disk, Unread)
    assert facts.model.on_disk.missing_files == 0
    assert isinstance(facts.model.config, dict)
    assert read_kept_manifest(desk.world.host, desk.recipe().model) is None


def test_what_was_fetched_is_counted_by_receipts(desk: Desk) -> None:
    """A file that was touched since is to be proved again: it is missing to the plan."""
    plan = desk.fetched()
    assert plan.candidate
    (plan.candidate.weights_dir / "config.json").touch()
    on_disk = preflight(desk.context, desk.recipe()).model.on_disk
    assert not isinstance(on_disk, Unread)
    assert on_disk.missing_files == 1


def test_a_package_that_does_not_exist_leaves_the_engine_unread(desk: Desk) -> None:
    """uv's words are the reason; the model is read all the same."""
    facts = preflight(desk.context, desk.recipe(engine={"name": "standin", "extra_requirements": ["no-such-package-anywhere==1"]}))
    assert isinstance(facts.engine.resolution, Unread)
    assert "no-such-package-anywhere" in facts.engine.resolution.unread
    assert isinstance(facts.model.manifest, Manifest)


def test_the_processes_of_the_current_release_are_no_strangers(tmp_path: Path) -> None:
    """Its engine is named by number; one that was started by hand is not."""
    host = SwitchHost(tmp_path)
    try:
        current = host.serve(host.release("old"))
        found = read_own_pids(host.config, host.state, current, None)
        assert found == sorted(process.pid for process in host.supervisor.processes(current))
        assert found
    finally:
        host.clean_up()


def fail(error: Exception) -> str:
    """Raise it."""
    raise error


@pytest.mark.parametrize("error", [CommandFailed("nvidia-smi: gone"), PivotError("words"), PermissionError(13, "Permission denied")])
def test_a_part_that_fails_is_unread_with_its_words(error: Exception) -> None:
    """One part's failure is a fact of that part alone."""
    result = Reading("part", lambda: fail(error)).result(time.monotonic() + 5)
    assert isinstance(result, Unread)
    assert str(error) in result.unread


def test_an_error_of_ours_is_not_hidden() -> None:
    """A bug must not read as a fact."""
    with pytest.raises(ZeroDivisionError):
        Reading("part", lambda: 1 // 0).result(time.monotonic() + 5)


def test_a_part_that_is_not_there_is_no_part_that_hangs() -> None:
    """None is an answer (no Hub cache on this host), not silence."""
    assert Reading("part", lambda: None).result(time.monotonic() + 5) is None


def test_a_part_that_hangs_is_unread_at_the_deadline(tmp_path: Path) -> None:
    """A read that never returns (here: a pipe that nobody writes until it was given up) holds nothing up."""
    reader, writer = os.pipe()
    result = Reading("a hung file system", lambda: os.read(reader, 1)).result(time.monotonic() + 0.2)
    os.close(writer)
    assert isinstance(result, Unread)
    assert "hangs" in result.unread


def test_a_hanging_host_holds_neither_model_nor_engine_up(desk: Desk) -> None:
    """A folder of weights that never answers is unread when the host's own seconds are over; what takes longer by nature has the deadline of all."""
    folder = WeightsFolder(desk.world.host.weights_root / "tune")
    folder.own.mkdir(parents=True)
    os.mkfifo(folder.manifest)
    recipe = desk.recipe()
    facts = read_facts(desk.world.host, desk.context.state, recipe, read_engine(recipe.engine.name), host_s=1.0)
    os.close(os.open(folder.manifest, os.O_WRONLY | os.O_NONBLOCK))
    assert isinstance(facts.host.stored, Unread) and "hangs" in facts.host.stored.unread
    assert isinstance(facts.model.manifest, Manifest)
    assert isinstance(facts.engine.resolution, Resolution)
    assert facts.read_s < DEADLINE_S / 2


def test_a_busy_release_and_the_environments_have_time_of_their_own(tmp_path: Path) -> None:
    """The host's seconds are over at once: what serves is still asked, so that it does not pass for down, and environments are still looked for."""
    host = SwitchHost(tmp_path)
    try:
        host.serve(host.release("old"))
        now = time.monotonic()
        facts = read_host_facts(host.config, host.state, until=now, answers_until=now + 60)
        assert facts.current_answers is True
        assert isinstance(facts.environments, list)
    finally:
        host.clean_up()


@pytest.mark.skipif(is_systemd_here(), reason=f"{UNABLE}: it runs under systemd")
def test_systemd_that_is_asked_for_and_not_here_is_a_fact(desk: Desk) -> None:
    """The rest is read all the same, and the plan says it with everything else."""
    host = desk.world.host.model_copy(update={"supervisor": "systemd"})
    facts = read_host_facts(host, desk.context.state, until=time.monotonic() + 30)
    assert isinstance(facts.supervisor, Unread)
    assert facts.own_pids == []
    assert facts.disks
