"""The clean slate of recorded hosts: golden files that a person has read, and what the brief asks of them."""

import json

import pytest

from modelpivot.models.cleanup import CleanupPlan
from tests.recorded import CLEANUPS, HOSTS, cleanup_text


def plan_of(name: str) -> CleanupPlan:
    """The plan of a recorded host."""
    return CleanupPlan.model_validate(json.loads(cleanup_text(name, "--json").partition("\nexit code")[0]))


@pytest.mark.parametrize("name", CLEANUPS)
def test_the_command_prints_the_slate_that_was_read(name: str) -> None:
    """`cleanup --facts` needs neither host, GPU nor disk, and prints what stands beside the recording."""
    assert cleanup_text(name) == (HOSTS / f"{name}.cleanup.txt").read_text()


@pytest.mark.parametrize("name", ["pro6000-first-day", "pro6000-stopped", "pro6000-serving"])
def test_the_brief_comes_out_right(name: str) -> None:
    """402 GB are offered, by their id alone; the 247 MB cache is left alone and told."""
    plan = plan_of(name)
    [item] = plan.reclaim.items
    assert (item.found.frees_bytes, item.ask) == (402_000_000_000, "named")
    assert plan.hub_cache is not None and plan.hub_cache.model_dump()["size_bytes"] == 247_000_000
    assert [each.is_to_stop for each in plan.serving] == [True] * len(CLEANUPS[name][1:])
    assert plan.busy == [] and plan.blockers == []


def test_what_serves_and_is_not_named_keeps_its_weights() -> None:
    """Without a name nothing stops, and the weights of what serves are not offered: the reason is said."""
    from tests.recorded import _command_text

    text = _command_text("cleanup", "--facts", str(HOSTS / "pro6000-serving.json"), "--json").partition("\nexit code")[0]
    plan = CleanupPlan.model_validate(json.loads(text))
    assert plan.reclaim.items == [] and "the current release" in plan.reclaim.kept[0].why
    assert plan.busy and any("goes on serving" in warning for warning in plan.warnings)


def test_a_disk_that_is_small_is_offered_what_costs_least_first() -> None:
    """Unreferenced cache and half-fetched weights of another model go with a yes; what serves stays."""
    plan = plan_of("pro6000-disk-small")
    assert [(item.found.kind, item.ask) for item in plan.reclaim.items] == [("cache", "yes"), ("weights", "yes")]


def test_a_stranger_is_named_and_left_alone() -> None:
    """A notebook on one GPU is nothing that serves; it stays busy, and that is said."""
    plan = plan_of("pro6000-stranger")
    assert plan.serving == [] and "991" in plan.busy[0]
