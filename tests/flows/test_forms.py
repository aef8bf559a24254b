"""What a person fills in, and that the table of contents says what is there."""

import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect import Flow
from prefect.utilities.schema_tools.validation import ValidationError, preprocess_schema, validate

from flows.__main__ import FLOWS
from modelpivot.recipes import recipe_names
from tests.world import PROJECT

CONTENTS: dict[str, Any] = yaml.safe_load((PROJECT / "prefect.yaml").read_text())


def load(name: str) -> Flow[..., Any]:
    found: Flow[..., Any] = getattr(importlib.import_module(f"flows.{name}"), name)
    return found


@pytest.mark.parametrize("name", FLOWS)
def test_every_field_of_every_form_explains_itself(name: str) -> None:
    """Each parameter has a help text, no field is a bare type switch, and the flow says what it does."""
    flow = load(name)
    assert flow.description
    for field, schema in flow.parameters.properties.items():
        assert schema.get("description"), f"{name}.{field} has no help"
        assert "anyOf" not in schema, f"{name}.{field} is a type switch"


@pytest.mark.parametrize("name", FLOWS)
def test_a_form_takes_what_it_shows_at_first(name: str) -> None:
    """The page sends every default back as it stands, `null` too: the server's own check must take it, or nobody can start anything."""
    schema: Any = load(name).parameters.model_dump()
    filled = {field: shown["default"] for field, shown in schema["properties"].items() if "default" in shown}
    required = {field: schema["properties"][field]["enum"][0] for field in schema["required"]}
    assert validate({**filled, **required}, preprocess_schema(schema), preprocess=False) == []
    fields = [shown for model in schema["definitions"].values() for shown in model["properties"].values()]
    assert [shown["title"] for shown in fields if shown.get("default", "") is None] == []


@pytest.mark.parametrize(
    ("field", "value"), [("port", 0), ("confirm_minutes", 0), ("max_model_len", "many"), ("gpu_memory_utilization", 90)]
)
def test_a_form_names_the_field_that_cannot_be(field: str, value: object) -> None:
    """By the server's own check, before there is a run."""
    schema: Any = load("pivot").parameters.model_dump()
    with pytest.raises(ValidationError, match=f"overrides.{field}"):
        validate({"recipe": recipe_names()[0], "overrides": {field: value}}, schema, raise_on_error=True)


def test_the_pivot_form_offers_recipes_and_plans_only_by_default() -> None:
    """A drop-down of the recipes, dry run switched on, a picker for host and Hub."""
    fields = load("pivot").parameters.properties
    assert fields["recipe"]["enum"] == recipe_names() and fields["dry_run"]["default"] is True and fields["agreed"]["default"] is False
    assert (fields["host"]["block_type_slug"], fields["hub"]["block_type_slug"]) == ("gpu-host", "hub-access")


@pytest.mark.parametrize("entry", CONTENTS["deployments"], ids=lambda entry: entry["name"])
def test_every_deployment_names_a_flow_of_its_own_file(entry: dict[str, Any]) -> None:
    """File, flow and deployment are called alike; the description says what it needs and what it changes; its parameters are the flow's."""
    path, _, function = entry["entrypoint"].partition(":")
    flow = load(function)
    assert (Path(path).stem, flow.name) == (function, entry["name"]) and inspect.getsourcefile(flow.fn) == str(PROJECT / path)
    assert "**Needs**" in entry["description"] and "**Changes**" in entry["description"] and "modelpivot" in entry["tags"]
    assert set(entry.get("parameters", {})) <= set(flow.parameters.properties)
