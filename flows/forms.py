"""What a person fills in: parameter types whose schema makes a good form and which still take plain values in-process."""

from typing import Annotated

from prefect.runtime import flow_run
from pydantic import WithJsonSchema

from blocks import GpuHost, HubAccess
from modelpivot.recipes import recipe_names
from modelpivot.settings import read_host_config

RecipeName = Annotated[str, WithJsonSchema({"type": "string", "enum": recipe_names()})]
"""A drop-down of the recipes that come with the project; in-process also the path of a YAML file."""

HostBlock = Annotated[GpuHost | None, WithJsonSchema({"type": "object", "block_type_slug": "gpu-host"})]
"""A picker of GpuHost blocks; left out: the configuration of the worker's own host."""

HubBlock = Annotated[HubAccess | None, WithJsonSchema({"type": "object", "block_type_slug": "hub-access"})]
"""A picker of HubAccess blocks; left out: what the worker's environment says."""


def name_run() -> str:
    """The run's name says what and where: `demo on gpu-01`."""
    given = flow_run.get_parameters()
    host = given.get("host")
    where = host.config.name if isinstance(host, GpuHost) else read_host_config().name
    what = str(given.get("recipe") or given.get("release") or flow_run.get_flow_name()).rpartition("/")[2].removesuffix(".yaml")
    return f"{what} on {where}{' (dry run)' if given.get('dry_run') else ''}"
