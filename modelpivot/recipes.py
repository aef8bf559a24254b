"""Recipes and engines as files: a name or a path becomes a Recipe; engines.yaml becomes Engines."""

import difflib
import os
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from modelpivot.errors import UsageError
from modelpivot.files import describe_invalid, digest_text
from modelpivot.models.engine import Engine
from modelpivot.models.recipe import Recipe
from modelpivot.models.yaml_text import read_yaml

LARGEST_BYTES = 4_000_000
DEPLOYMENTS = Path(__file__).resolve().parents[1] / "deployments"


def deployments() -> Path:
    """Where recipes/ and engines.yaml lie: the folder that MODELPIVOT_DEPLOYMENTS names, else the project's own."""
    return Path(os.environ.get("MODELPIVOT_DEPLOYMENTS") or DEPLOYMENTS)


def recipe_names() -> list[str]:
    """Names of the recipes that come with the project, sorted."""
    return sorted(path.stem for path in (deployments() / "recipes").glob("*.yaml"))


def read_recipe(name_or_path: str) -> Recipe:
    """A recipe by its name in `deployments/recipes`, or by a path (anything with a slash or .yaml). UsageError names file, field, what is allowed."""
    path = _find(name_or_path)
    recipe = _parse(path)
    if path.parent == deployments() / "recipes" and recipe.name != path.stem:
        raise UsageError(f"{path}: name: expected {path.stem!r} like the file, found {recipe.name!r}")
    return recipe


def recipe_digest(recipe: Recipe) -> str:
    """sha256 over the recipe's content, layout of the file aside."""
    return digest_text(recipe.model_dump_json())


def read_engines() -> dict[str, Engine]:
    """All engines of `deployments/engines.yaml` by name."""
    path = deployments() / "engines.yaml"
    document = load_yaml(path)
    try:
        entries = TypeAdapter(dict[str, dict[str, object]]).validate_python(document)
        return {name: Engine.model_validate({"name": name, **entry}) for name, entry in entries.items()}
    except ValidationError as error:
        raise UsageError(f"{path}: {describe_invalid(error)}") from error


def read_engine(name: str) -> Engine:
    """One engine by name; UsageError lists those that are there."""
    engines = read_engines()
    if name not in engines:
        raise UsageError(f"engine.name: no engine {name!r} in engines.yaml; there are: {', '.join(sorted(engines))}")
    return engines[name]


def _find(name_or_path: str) -> Path:
    if "/" in name_or_path or name_or_path.endswith((".yaml", ".yml")):
        return Path(name_or_path)
    if name_or_path not in recipe_names():
        near = difflib.get_close_matches(name_or_path, recipe_names(), n=1)
        raise UsageError(
            f"recipe: no recipe {name_or_path!r}; there are: {', '.join(recipe_names())}",
            hint=f"did you mean {near[0]}?" if near else "name one of these, or give the path of a YAML file",
        )
    return deployments() / "recipes" / f"{name_or_path}.yaml"


def load_yaml(path: Path) -> object:
    """Any YAML file. UsageError when it cannot be read, is none, or is larger than any recipe."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint="give the path of a readable YAML file") from error
    except ValueError as error:
        raise UsageError(f"{str(path)!r}: no name of a file ({error})", hint="give the path of a readable YAML file") from error
    if len(content) > LARGEST_BYTES:
        raise UsageError(f"{path}: expected at most {LARGEST_BYTES} bytes of YAML, found more", hint="give the path of a recipe")
    try:
        return read_yaml(content)
    except ValueError as error:
        raise UsageError(f"{path}: not YAML that can be used: {error}", hint="mend the file") from error


def _parse(path: Path) -> Recipe:
    document = load_yaml(path)
    if not isinstance(document, dict):
        raise UsageError(f"{path}: expected a mapping of fields, found {type(document).__name__}")
    try:
        return Recipe.model_validate(document)
    except ValidationError as error:
        raise UsageError(f"{path}: {describe_invalid(error)}", hint="the fields and what they take: docs/recipes.md") from error
