"""The one base of all nouns: frozen, and closed against unknown fields."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticSerializationError


class Frozen(BaseModel):
    """A value: never changed, unknown fields refused (a typing error in a recipe must not pass in silence)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """As pydantic does it; where a name on disk is no UTF-8, with a mark in place of its odd bytes, so that what is told can always be told."""
        try:
            return super().model_dump_json(indent=indent, **options)
        except PydanticSerializationError:
            text = json.dumps(
                self.model_dump(mode="json", **options), indent=indent, ensure_ascii=False, separators=None if indent else (",", ":")
            )
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Unread(Frozen):
    """A fact that could not be read, with its reason. It is an answer, never a zero."""

    unread: str
    """Why: the command, its exit code, its words."""

    def __str__(self) -> str:
        return f"unread ({self.unread})"
