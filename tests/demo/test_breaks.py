"""The broken recipes of --fail break what they say, and only that."""

from pathlib import Path

import pytest

from modelpivot.demo.breaks import POINTS, break_recipe, write_broken_recipe
from modelpivot.demo.places import DemoPlaces
from modelpivot.recipes import read_recipe


@pytest.mark.parametrize("point", POINTS)
def test_a_broken_recipe_is_a_valid_recipe_of_the_same_model(tmp_path: Path, point: str) -> None:
    """It passes the same reading as any recipe, and serves the same repository on the same port."""
    recipe = read_recipe("demo")
    path = write_broken_recipe(DemoPlaces(tmp_path), recipe, point)
    broken = read_recipe(path)
    assert (broken.model, broken.engine, broken.serve.port) == (recipe.model, recipe.engine, recipe.serve.port)
    assert broken != recipe


def test_each_point_changes_one_thing() -> None:
    """ready: a flag; probe: one more question; bench: a floor."""
    recipe = read_recipe("demo")
    changed = {point: {name for name, value in break_recipe(recipe, point) if value != getattr(recipe, name)} for point in POINTS}
    assert changed == {"ready": {"name", "serve"}, "probe": {"name", "probes"}, "bench": {"name", "floors"}}
