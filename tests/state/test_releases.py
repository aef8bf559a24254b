"""Releases and their book: what was stopped by name stays on record until it runs again; what a release was made of is known, or what to do is said."""

import json
from pathlib import Path
from typing import Literal

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.models.release import Endpoint, Release, StartSpec, Stopped
from modelpivot.recipes import read_recipe
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import (
    forget_release,
    keep_recipe,
    read_book,
    read_recipe_of,
    record_adopted,
    record_current,
    record_started,
    record_stopped,
)


@pytest.fixture
def stopped(state: StatePaths) -> StatePaths:
    """A current release and two services, all stopped by name."""
    record_current(state, "old")
    for name in ("a.service", "b.service"):
        record_stopped(state, Stopped(name=name, is_release=False, was_enabled=True, at=1.0))
    record_stopped(state, Stopped(name="old", at=2.0))
    return state


def names(state: StatePaths) -> list[str]:
    """Of what is on record as stopped."""
    return [each.name for each in read_book(state).stopped]


def test_every_name_is_kept_until_it_runs_again(stopped: StatePaths) -> None:
    """A later one takes no earlier one's place; each leaves by itself."""
    assert names(stopped) == ["a.service", "b.service", "old"] and read_book(stopped).is_current_stopped
    record_started(stopped, "a.service")
    assert names(stopped) == ["b.service", "old"]
    record_current(stopped, "old")
    assert names(stopped) == ["b.service"] and not read_book(stopped).is_current_stopped


def test_what_was_enabled_stays_so_however_often_it_is_noted(stopped: StatePaths) -> None:
    """A cleanup that was cut off disabled it already when the next one looks."""
    record_stopped(stopped, Stopped(name="a.service", is_release=False, was_enabled=False, at=3.0))
    (again,) = [each for each in read_book(stopped).stopped if each.name == "a.service"]
    assert (again.was_enabled, again.at) == (True, 3.0)


def test_another_release_serves_in_place_of_all_of_it(stopped: StatePaths) -> None:
    """After a pivot nothing is down for a person to start: it would come up beside what took its place."""
    record_current(stopped, "new")
    assert names(stopped) == []


def test_one_that_is_given_up_leaves_the_others(stopped: StatePaths) -> None:
    """Its own entry goes with it."""
    forget_release(stopped, "old")
    assert names(stopped) == ["a.service", "b.service"]


def test_a_release_that_is_adopted_anew_leaves_the_others(stopped: StatePaths) -> None:
    """It was seen to serve; of the rest nobody knows."""
    record_adopted(stopped, "old-2", replaces=True)
    assert names(stopped) == ["a.service", "b.service"]


@pytest.mark.parametrize(
    ("written", "expected"), [(None, []), ({"name": "old", "is_release": True, "was_enabled": False, "at": 1.0}, ["old"])]
)
def test_a_book_of_an_earlier_version_is_read(state: StatePaths, written: object, expected: list[str]) -> None:
    """It held one entry or none."""
    state.book.parent.mkdir(parents=True, exist_ok=True)
    state.book.write_text(json.dumps({"current": "old", "previous": None, "proved": ["old"], "retired": {}, "stopped": written}))
    assert names(state) == expected


def release(name: str, origin: Literal["recipe", "adopted"] = "recipe") -> Release:
    """A release by this name."""
    return Release(
        id=f"{name}-1",
        name=name,
        origin=origin,
        serving_digest="",
        repo="acme/one",
        commit="",
        weights_dir=Path("/none"),
        view_dir=Path("/none"),
        environment_dir=Path("/none"),
        engine="standin",
        engine_version="0",
        start=StartSpec(argv=["/bin/true"], environment={}, working_directory=Path("/none")),
        endpoint=Endpoint(bind="127.0.0.1", port=8000, served_name=name),
    )


@pytest.mark.parametrize(("origin", "said"), [("adopted", "adopted service"), ("recipe", "none was kept")])
def test_a_release_without_a_recipe_says_what_to_do(state: StatePaths, origin: Literal["recipe", "adopted"], said: str) -> None:
    """An adopted service never had one; a release of an earlier version kept none."""
    with pytest.raises(PreconditionError, match=said) as caught:
        read_recipe_of(state, release("mine", origin))
    assert "name the recipe" in caught.value.hint


def test_a_kept_recipe_that_is_not_understood_is_written_anew(state: StatePaths) -> None:
    """Another version wrote it: that stands in nobody's way."""
    path = state.release("mine-1").recipe
    path.parent.mkdir(parents=True)
    path.write_text('{"field of another version": 1}')
    keep_recipe(state, "mine-1", read_recipe("demo"))
    assert read_recipe_of(state, release("mine")) == read_recipe("demo")
