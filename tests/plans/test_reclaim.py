"""What may go and what stays, decided from facts alone."""

from typing import Any

import pytest

from modelpivot.models.host import HostConfig
from modelpivot.models.reclaim import Found, Holder, Known, Need, Part, ReclaimFacts, Role, Root
from modelpivot.plans.reclaim import plan_reclaim

DAY_S, NOW = 86400.0, 1_800_000_000.0
HOST = HostConfig(keep_environments=2)
ROOT = Root(name="weights", path="/pool", real="/pool", device=7, inode=2)


def thing(name: str = "a--b/c", **changes: Any) -> Found:
    """Fetched weights that nothing needs, idle for a month."""
    part = Part(name=name, digest="d", files=3, size_bytes=1000, frees_bytes=1000)
    values: dict[str, Any] = {"kind": "weights", "root": ROOT, "parts": [part], "what": "weights", "costs": "fetching them again"}
    return Found.model_validate({**values, "idle_since": NOW - 30 * DAY_S, **changes})


def known(name: str, role: Role, *, idle_days: float = 30) -> Known:
    """A release."""
    return Known(id=name, roles=[role], idle_since=NOW - idle_days * DAY_S)


def outcome(*found: Found, releases: tuple[Known, ...] = (), host: HostConfig = HOST, **options: Any) -> dict[str, str]:
    """By name: `yes`, `named`, or why it stays."""
    plan = plan_reclaim(host, ReclaimFacts(read_at=NOW, roots=[ROOT], found=list(found), known=list(releases)), **options)
    return {item.found.name: item.ask for item in plan.items} | {kept.id.partition(":")[2]: kept.why for kept in plan.kept}


@pytest.mark.parametrize("role", ["current", "previous", "candidate", "switch", "run"])
def test_what_a_release_needs_stays(role: Role) -> None:
    """Whatever the release is to this host, its name is in the reason."""
    assert "r names it" in outcome(thing(needs=[Need(by="r")]), releases=(known("r", role),))["a--b/c"]


@pytest.mark.parametrize(("idle_days", "expected"), [(6.9, "r names it"), (7.1, "yes")])
def test_a_release_that_is_over_keeps_its_weights_for_the_soak_time(idle_days: float, expected: str) -> None:
    """Seven days unless the host says otherwise."""
    assert expected in outcome(thing(needs=[Need(by="r")]), releases=(known("r", "retired", idle_days=idle_days),))["a--b/c"]


def test_a_need_of_nobody_who_is_known_is_a_need() -> None:
    """A name that no release answers to is no licence to delete."""
    assert "ghost names it" in outcome(thing(needs=[Need(by="ghost")]))["a--b/c"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "yes"),
        ({"irreplaceable": ["tune.gguf"]}, "named"),
        ({"is_refetchable": False, "irreplaceable": ["x.gguf"]}, "named"),
        ({"is_refetchable": False}, "holds no weights"),
        ({"root": ROOT.model_copy(update={"is_network": True})}, "named"),
        ({"is_pinnable": True, "kind": "cache"}, "named"),
        ({"problem": "/pool/a is a mount point"}, "mount point"),
        ({"holders": [Holder(pid=7, command="x")]}, "process 7"),
        ({"holders": [Holder(pid=0, command="loop device loop3")]}, "loop3"),
        ({"linked_from": ["/pool/by-hand/x"]}, "/pool/by-hand/x leads into it"),
        ({"idle_since": NOW - DAY_S}, "kept for 7 days"),
        ({"idle_since": NOW + DAY_S}, "kept for 7 days"),
    ],
)
def test_what_it_asks_for(changes: dict[str, Any], expected: str) -> None:
    """A yes, its name, or not at all; a time in the future is no age."""
    assert expected in outcome(thing(**changes))["a--b/c"]


def test_given_up_is_offered_by_name_and_holders_that_end_do_not_count() -> None:
    """Cleanup names a release: its weights are offered with what that costs, its own processes are no obstacle, another's are."""
    mine = thing(needs=[Need(by="r")], holders=[Holder(pid=7, command="engine")], idle_since=NOW)
    release = known("r", "current", idle_days=0)
    assert outcome(mine, releases=(release,), given_up=["r"], going_pids=[7]) == {"a--b/c": "named"}
    assert "process 7" in outcome(mine, releases=(release,), given_up=["r"])["a--b/c"]


def test_weights_that_another_release_needs_too_are_not_given_up() -> None:
    """Two recipes over one set of shards."""
    both = thing(needs=[Need(by="r"), Need(by="s")])
    assert "s names it" in outcome(both, releases=(known("r", "current"), known("s", "previous")), given_up=["r"])["a--b/c"]


def test_the_newest_environments_stay_and_one_that_was_never_finished_is_none_of_them() -> None:
    """Two of three proved ones stay; the unproved one is the newest and goes."""
    environments = [thing(f"e{number}", kind="environments", made_at=NOW - number * DAY_S) for number in (10, 20, 30)]
    told = outcome(*environments, thing("broken", kind="environments", made_at=0))
    assert (told["e30"], told["broken"]) == ("yes", "yes") and "newest 2" in told["e10"] and "newest 2" in told["e20"]


def test_one_yes_takes_a_thing_once() -> None:
    """What lies in something that is agreed to as well is no item of its own; where the outer one is not agreed to, it is."""
    outer, inner = thing("a/b", irreplaceable=["x.gguf"]), thing("a/b/.modelpivot/partial/x.part", kind="partials")
    plan = plan_reclaim(HOST, ReclaimFacts(read_at=NOW, roots=[ROOT], found=[outer, inner]))
    assert [item.found.name for item in plan.agreed(is_agreed=True)] == ["a/b/.modelpivot/partial/x.part"]
    assert [item.found.name for item in plan.agreed(is_agreed=True, named=["weights:a/b"])] == ["a/b"]


def test_nothing_goes_while_a_switch_is_open() -> None:
    """Whatever it is."""
    plan = plan_reclaim(HOST, ReclaimFacts(read_at=NOW, roots=[ROOT], found=[thing()], is_switch_open=True))
    assert plan.items == [] and "a switch is open" in plan.kept[0].why
