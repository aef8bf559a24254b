"""The one base of all nouns: frozen, and closed against unknown fields."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value: never changed, unknown fields refused (a typing error in a recipe must not pass in silence)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Unread(Frozen):
    """A fact that could not be read, with its reason. It is an answer, never a zero."""

    unread: str
    """Why: the command, its exit code, its words."""

    def __str__(self) -> str:
        return f"unread ({self.unread})"
