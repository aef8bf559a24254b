"""recipe new, recipe import, facts and plan as commands: against a Hub on loopback, real uv, and files as people keep them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from modelpivot.cli.app import app
from modelpivot.errors import UsageError
from modelpivot.mirror.server import Mirror
from modelpivot.models.facts import Facts, HostFacts
from modelpivot.models.recipe import Recipe
from modelpivot.settings import to_environment
from tests.standin_wheel import build_wheel
from tests.weights.repos import make_repo
from tests.world import ENGINES

COMMUNITY = {
    "meta": {"title": "Tiny"},
    "model": {"model_id": "acme/tiny", "base_args": ["--trust-remote-code"]},
    "variants": {"default": {"vram_minimum_gb": 8}},
    "guide": "text",
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: object) -> Iterator[Path]:
    """A folder with a Hub, an engine of its own that uv finds, and a host whose roots lie there."""
    from modelpivot.models.host import HostConfig

    assert isinstance(host, HostConfig)
    make_repo(tmp_path / "hub", "acme/tiny")
    build_wheel(tmp_path / "wheels")
    (tmp_path / "deployments" / "recipes").mkdir(parents=True)
    engines = {**ENGINES, "vllm": {**ENGINES["standin"], "tested": ["1.0"]}}
    (tmp_path / "deployments" / "engines.yaml").write_text(yaml.safe_dump(engines))
    with Mirror(tmp_path / "hub") as mirror:
        at = host.model_copy(update={"hub_endpoint": mirror.base_url})
        finds = {"MODELPIVOT_DEPLOYMENTS": tmp_path / "deployments", "UV_FIND_LINKS": tmp_path / "wheels", "UV_NO_INDEX": "1"}
        for name, value in {**to_environment(at), **finds, "UV_CACHE_DIR": tmp_path / "uv", "HF_HOME": tmp_path / "hf"}.items():
            monkeypatch.setenv(name, str(value))
        yield tmp_path


def call(*words: str | Path) -> Result:
    """A command in this process; its own errors are raised."""
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def test_a_first_recipe_is_written_and_plans(desk: Path) -> None:
    """From a repository's name to a plan of three commands, each value with its reason in the file."""
    out = desk / "tiny.yaml"
    assert call("recipe", "new", "acme/tiny", "--engine", "standin", "--out", out).exit_code == 0
    recipe = Recipe.model_validate(yaml.safe_load(out.read_text()))
    assert (recipe.name, recipe.model.repo, recipe.serve.gpus) == ("tiny", "acme/tiny", 0) and " # " in out.read_text()
    plan = json.loads(call("plan", out, "--json").stdout)
    assert plan["blockers"] == [] and plan["candidate"]["id"].startswith("tiny-")


def test_what_facts_record_is_planned_from(desk: Path) -> None:
    """`facts RECIPE --json` gives whole facts, `facts --json` the host's; a plan is made of either, of the first without any Hub."""
    out = desk / "tiny.yaml"
    call("recipe", "new", "acme/tiny", "--engine", "standin", "--out", out)
    whole, host = desk / "whole.json", desk / "host.json"
    whole.write_text(call("facts", out, "--json").stdout)
    host.write_text(call("facts", "--json").stdout)
    assert Facts.model_validate_json(whole.read_text()).configuration and HostFacts.model_validate_json(host.read_text())
    ids = [json.loads(call("plan", out, "--facts", recorded, "--json").stdout)["candidate"]["id"] for recorded in (whole, host)]
    assert ids[0] == ids[1]


def test_facts_are_shown_to_a_person(desk: Path) -> None:
    """Host, and with a recipe the model."""
    out = desk / "tiny.yaml"
    call("recipe", "new", "acme/tiny", "--engine", "standin", "--out", out)
    told = call("facts", out).stdout
    assert "disk" in told and "glibc" in told and "TinyForCausalLM" in told


def test_facts_that_are_none_are_refused(desk: Path) -> None:
    """A file of another shape: what is wrong with it, and how facts are recorded."""
    (desk / "odd.json").write_text("{}")
    (desk / "deployments" / "recipes" / "x.yaml").write_text(
        "name: x\nmodel: {repo: acme/tiny}\nengine: {name: standin}\nserve: {served_name: x}\n"
    )
    for name in ("odd.json", "none.json"):
        with pytest.raises(UsageError) as caught:
            call("plan", "x", "--facts", desk / name)
        assert "modelpivot facts RECIPE --json" in str(caught.value)


def test_a_community_recipe_is_taken_over(desk: Path) -> None:
    """To standard output or a file; what is left stands on standard error, and in the JSON."""
    source = desk / "Tiny.yaml"
    source.write_text(yaml.safe_dump(COMMUNITY))
    shown = call("recipe", "import", source)
    assert Recipe.model_validate(yaml.safe_load(shown.stdout)).serve.args == {"trust-remote-code": True}
    assert "not taken over: guide" in shown.stderr
    answer = json.loads(call("recipe", "import", source, "--gpus", "2", "--out", desk / "mine.yaml", "--json").stdout)
    assert Recipe.model_validate(yaml.safe_load((desk / "mine.yaml").read_text())).serve.gpus == 2
    assert any(line.startswith("guide") for line in answer["not_taken"])


@pytest.mark.parametrize("content", ["", "- a\n- b\n", "model: {model_id: nothing}\n", "a: [\n"])
def test_a_file_that_is_no_recipe_is_refused(desk: Path, content: str) -> None:
    """Exit 2 with what was expected."""
    (desk / "odd.yaml").write_text(content)
    with pytest.raises(UsageError):
        call("recipe", "import", desk / "odd.yaml")


def test_a_repository_that_is_not_there_is_told(desk: Path) -> None:
    """The Hub's own answer with its remedy."""
    from modelpivot.errors import PreconditionError

    with pytest.raises(PreconditionError, match="acme/none"):
        call("recipe", "new", "acme/none", "--engine", "standin")
    with pytest.raises(UsageError, match="org/name"):
        call("recipe", "new", "none", "--engine", "standin")
