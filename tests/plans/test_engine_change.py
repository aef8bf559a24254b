"""An engine change alone, and which environments are surplus."""

from pathlib import Path

import pytest

from modelpivot.models.engine_change import EnvironmentEntry
from modelpivot.models.packages import LiveEnvironment, Package
from modelpivot.plans.engine_change import mark_surplus, plan_engine_change
from modelpivot.recipes import read_recipe
from tests.plans.samples import CUDA, HOST, brief_facts

RECIPE = read_recipe("kimi-k2.5-nvfp4")
SAME = LiveEnvironment(path=Path("/opt/vllm"), packages=[Package(name="vllm", version="0.26.0"), Package(name="torch", version="2.9.1")])


def entry(name: str, made_at: float, *, releases: list[str] | None = None, processes: list[int] | None = None) -> EnvironmentEntry:
    """An environment of some age."""
    return EnvironmentEntry(
        name=name,
        path=HOST.environments_root / name,
        engine="vllm",
        engine_version="0",
        packages=1,
        is_proved=True,
        made_at=made_at,
        own_bytes=0,
        shared_bytes=0,
        releases=releases or [],
        processes=processes or [],
    )


def test_the_newest_that_nothing_needs_are_kept() -> None:
    """What a release names or a process runs from is never surplus, however old, and takes no place of those kept."""
    entries = [entry("a", 1, releases=["r"]), entry("b", 2, processes=[7]), entry("c", 3), entry("d", 4), entry("e", 5)]
    marked = mark_surplus(entries, keep=2)
    assert [one.name for one in marked] == ["e", "d", "c", "b", "a"]
    assert [one.name for one in marked if one.is_surplus] == ["c"]


@pytest.mark.parametrize(
    ("engine", "verdict"),
    [
        ({"live": SAME}, "no_change"),
        ({"live": None}, "change"),
        ({"live": SAME.model_copy(update={"packages": [Package(name="vllm", version="0.25.0")]})}, "change"),
        ({"live": SAME.model_copy(update={"packages": [*SAME.packages[:1], Package(name="torch", version="2.10")]})}, "blocked"),
        ({"live": SAME, "resolution": {"unread": "x"}, "problem": "no_wheel"}, "no_wheel"),
        ({"live": SAME, "resolution": {"unread": "x"}, "problem": "unreachable"}, "unreachable"),
        ({"live": SAME, "resolution": {"unread": "x"}, "problem": "conflict"}, "unresolved"),
    ],
)
def test_the_verdict_says_how_it_stands(engine: dict[str, object], verdict: str) -> None:
    """The same packages are no change; a partner that goes down is blocked; no answer is told by its kind."""
    made = plan_engine_change(RECIPE, brief_facts(engine=engine), CUDA, 0.5)
    assert (made.verdict, made.read_s) == (verdict, 0.5)
