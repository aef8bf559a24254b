"""A recipe as YAML with the reason beside each value. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from modelpivot.models.recipe import Recipe

WIDE = 10**9


def recipe_text(recipe: Recipe, reasons: Mapping[str, str], *, head: Sequence[str] = ()) -> str:
    """The file. Values that are a recipe's defaults are left out. `reasons`: by the value's path, `serve.args.tensor-parallel-size`."""
    values = recipe.model_dump(mode="json", exclude_defaults=True)
    lines = [f"# {line}" for line in head]
    return "\n".join([*lines, *_lines(values, (), reasons)]) + "\n"


def _lines(values: Mapping[str, Any], above: tuple[str, ...], reasons: Mapping[str, str]) -> list[str]:
    indent, lines = "  " * len(above), []
    for key, value in values.items():
        path = (*above, str(key))
        reason = reasons.get(".".join(path), "")
        note = f" # {_on_one_line(reason)}" if reason else ""
        name = f"{indent}{_flow(key)}:"
        if isinstance(value, dict) and value:
            lines += [f"{name}{note}", *_lines(value, path, reasons)]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{name}{note}", *(f"{indent}  - {_flow(each)}" for each in value)]
        else:
            lines.append(f"{name} {_flow(value)}{note}")
    return lines


def _flow(value: Any) -> str:
    """One value on one line, quoted where YAML would read something else."""
    text = _dump(value, as_it_is=True)
    return text if text.isprintable() else _dump(value, as_it_is=False)


def _dump(value: Any, *, as_it_is: bool) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=WIDE, allow_unicode=as_it_is, sort_keys=False)
    return text.removesuffix("...\n").strip()


def _on_one_line(reason: str) -> str:
    """A comment takes no character that YAML refuses, or takes for the end of the line."""
    return " ".join("".join(char if char.isprintable() else " " for char in reason).split())
