"""What a recipe or a host runs around a pivot."""

from pydantic import Field

from modelpivot.models.frozen import Frozen


class Hooks(Frozen):
    """Shell commands of the recipe or host. before and after run in the flow, drain and undrain belong to the switch."""

    before: list[str] = Field(default_factory=list)
    after: list[str] = Field(default_factory=list)
    drain: list[str] = Field(default_factory=list)
    undrain: list[str] = Field(default_factory=list)
