"""Recipes: those that ship are right, and a wrong one is told by file, field and what is allowed."""

from pathlib import Path

import pytest
import yaml

from modelpivot.errors import UsageError
from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import Deadlines, EngineChoice, Hooks, Patch, Probe, Recipe, Serve, Source
from modelpivot.models.release import Release
from modelpivot.models.workload import Floor, Regression, Workload
from modelpivot.recipes import read_engine, read_recipe, recipe_digest, recipe_names
from tests.plans.samples import old_release

VALID: dict[str, object] = {
    "name": "small",
    "model": {"repo": "org/small"},
    "engine": {"name": "vllm"},
    "serve": {"served_name": "small"},
}


def write(folder: Path, document: object) -> str:
    """A recipe file; the path as a person would give it."""
    path = folder / "small.yaml"
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return str(path)


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_that_ships_is_valid_and_names_a_known_engine(name: str) -> None:
    """Reading it gives no error, and its engine stands in engines.yaml."""
    recipe = read_recipe(name)
    assert read_engine(recipe.engine.name).name == recipe.engine.name


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_that_ship_are_portable(name: str) -> None:
    """No absolute path, no address of a host."""
    text = read_recipe(name).model_dump_json()
    assert "http" not in text
    assert ': "/' not in text.replace('"pointer":"/', "")


def test_the_demo_takes_out_the_kv_setting_and_keeps_the_name_that_clients_use() -> None:
    """Both demo recipes answer by the same name; only the new one patches."""
    old, new = read_recipe("demo-old"), read_recipe("demo")
    assert old.serve.served_name == new.serve.served_name
    assert [patch.pointer for patch in new.patches] == ["/quantization_config/kv_cache_scheme"]
    assert old.patches == []


def test_the_pivot_of_the_brief_is_written_down() -> None:
    """Eight GPUs, tensor parallel 8 and the kimi_k2 parsers; what depends on the host is left to the plan."""
    recipe = read_recipe("kimi-k2.5-nvfp4")
    assert recipe.serve.gpus == recipe.serve.args["tensor-parallel-size"] == 8
    assert {recipe.serve.args["tool-call-parser"], recipe.serve.args["reasoning-parser"]} == {"kimi_k2"}
    assert recipe.serve.env == {} and recipe.patches == [] and "max-model-len" not in recipe.serve.args


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model": {"repo": "no-slash"}}, ("model.repo", "org/name", "no-slash")),
        ({"servee": {}}, ("servee", "not permitted")),
        ({"serve": {"served_name": "x", "args": {"--max-model-len": 4}}}, ("serve.args", "without leading dashes")),
        ({"serve": {"served_name": "x", "args": {"port": 4}}}, ("serve.args", "the field port instead")),
        ({"serve": {"served_name": "x", "port": 70000}}, ("serve.port", "65535", "70000")),
        ({"serve": {"served_name": "x", "env": {"A": "two\nlines"}}}, ("serve.env", "one line")),
        ({"floors": [{"workload": "none"}]}, ("none", "single")),
        ({"patches": [{"pointer": "no-slash", "why": "x"}]}, ("patches.0.pointer", "starts with /")),
        ({"deadlines": {"stop_s": 0}}, ("deadlines.stop_s", "greater than 0")),
        ({"probes": [{"kind": "smell"}]}, ("probes.0.kind", "'answer', 'repeat' or 'logprobs'")),
        ({"probes": [{"kind": "answer"}, {"kind": "answer", "expect": "(Paris"}]}, ("probes.1", "expect", "regular expression", "(Paris")),
        ({"probes": [{"kind": "answer", "expect": "a{99999999999}"}]}, ("probes.0", "expect", "regular expression")),
        ({"probes": [{"kind": "repeat", "expect": "Paris"}]}, ("probes.0", "expect", "kind answer only", "repeat never looks")),
        ({"probes": [{"kind": "logprobs", "not_degenerate": False}]}, ("probes.0", "not_degenerate", "logprobs never looks")),
        ({"name": "Not Allowed"}, ("name", "lower-case", "Not Allowed")),
    ],
)
def test_a_wrong_field_is_told_by_file_field_and_what_is_allowed(tmp_path: Path, change: dict[str, object], told: tuple[str, ...]) -> None:
    """The message holds the path, the field and the demand."""
    path = write(tmp_path, VALID | change)
    with pytest.raises(UsageError) as caught:
        read_recipe(path)
    message = str(caught.value)
    assert path in message
    assert [words for words in told if words not in message] == []


def test_a_release_frozen_with_a_probe_that_no_recipe_may_have_is_still_read() -> None:
    """Going back needs no recipe: what was frozen before is not held to what recipes are held to now."""
    odd = Probe(kind="repeat", expect="(Paris")
    release = old_release().model_copy(update={"probes": [odd]})
    assert Release.model_validate_json(release.model_dump_json()) == release


@pytest.mark.parametrize("text", ["", "- a list", "{unclosed", "just words", "\x00"])
def test_what_is_no_recipe_at_all_is_a_usage_error(tmp_path: Path, text: str) -> None:
    """Empty, a list, broken YAML, a word: told with the file's path, never a traceback."""
    path = write(tmp_path, text)
    with pytest.raises(UsageError, match=r"small\.yaml"):
        read_recipe(path)


def test_a_name_that_is_not_there_brings_the_near_one() -> None:
    """The next move of a typing error is the name that was meant."""
    with pytest.raises(UsageError) as caught:
        read_recipe("kimi-k2.5-nvfp")
    assert "did you mean kimi-k2.5-nvfp4" in str(caught.value)


def test_the_digest_follows_content_and_not_layout(tmp_path: Path) -> None:
    """Order of keys and comments say nothing; a changed value does."""
    one = read_recipe(write(tmp_path, VALID))
    other = read_recipe(write(tmp_path, "# a comment\n" + yaml.safe_dump(dict(reversed(VALID.items())))))
    assert recipe_digest(one) == recipe_digest(other)
    assert recipe_digest(one) != recipe_digest(Recipe.model_validate(VALID | {"description": "else"}))


MODELS = (Recipe, Source, EngineChoice, Serve, Patch, Probe, Workload, Floor, Regression, Deadlines, Hooks)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_of_a_recipe_is_documented(model: type[Frozen]) -> None:
    """docs/recipes.md names them all; an error message sends people there."""
    text = (Path(__file__).parents[1] / "docs" / "recipes.md").read_text()
    assert [name for name in model.model_fields if f"`{name}`" not in text] == []
