"""What a person fills in: parameter types whose schema makes a good form and which still take plain values in-process."""

import os
from typing import Annotated, Literal

from prefect.runtime import flow_run
from pydantic import WithJsonSchema

from blocks import GpuHost, HubAccess
from modelpivot.errors import UsageError
from modelpivot.models.host import UNNAMED
from modelpivot.models.overrides import Overrides as Overrides
from modelpivot.recipes import recipe_names
from modelpivot.settings import read_host_config

WHAT_SERVES = "what serves"
"""Instead of a recipe: the one of the release that serves now."""

RecipeName = Annotated[str, WithJsonSchema({"type": "string", "enum": recipe_names()})]
"""A drop-down of the recipes that come with the project; in-process also the path of a YAML file."""

ServedRecipe = Annotated[str, WithJsonSchema({"type": "string", "enum": [WHAT_SERVES, *recipe_names()]})]
"""The same, and what serves now."""

Promotion = Literal["gate", "person"]
"""Who has the last word on the new model: the gate, or after the gate a person who is asked in a form."""

AS_THE_RECIPE_SAYS = Overrides()

HostBlock = Annotated[GpuHost | None, WithJsonSchema({"type": ["object", "null"], "block_type_slug": "gpu-host"})]
"""A picker of GpuHost blocks; left out: the configuration of the worker's own host."""

HubBlock = Annotated[HubAccess | None, WithJsonSchema({"type": ["object", "null"], "block_type_slug": "hub-access"})]
"""A picker of HubAccess blocks; left out: what the worker's environment says."""


def name_run() -> str:
    """The run's name says what and where: `demo on gpu-01`; `rollback on gpu-01` where no recipe is named."""
    given = flow_run.get_parameters()
    host = given.get("host")
    where = host.config.name if isinstance(host, GpuHost) else _own_name()
    return f"{_subject(given.get('recipe'))} on {where}{' (dry run)' if given.get('dry_run') else ''}"


def _own_name() -> str:
    """Of the worker's host; also where its configuration is wrong: the run itself, not its name, ends with that."""
    try:
        return read_host_config().name
    except UsageError:
        return os.environ.get("MODELPIVOT_NAME") or UNNAMED


def _subject(recipe: object) -> str:
    """The recipe by its name; the flow where there is none. A run that is no pivot says so: `benchmark of demo`."""
    flow = str(flow_run.get_flow_name())
    if not recipe:
        return flow
    name = str(recipe).rpartition("/")[2].removesuffix(".yaml")
    return name if flow == "pivot" else f"{flow} {'of ' if recipe == WHAT_SERVES else ''}{name}"
