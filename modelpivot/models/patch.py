"""One change to a JSON file. A module of its own, since a proof of weights needs it and nothing else of a recipe."""

from pydantic import JsonValue, field_validator

from modelpivot.models.frozen import Frozen


class Patch(Frozen):
    """One change to a JSON file of the view: at `pointer`, `expected` becomes `new`. Only the view is changed, never the fetched file."""

    file: str = "config.json"
    if_present: bool = False
    """True: nothing to do when the repository has no such file."""
    pointer: str
    """JSON pointer (RFC 6901), such as /quantization_config/kv_cache_scheme."""
    expected: JsonValue = None
    """The value that must stand there; anything else: no edit, and the plan is blocked."""
    new: JsonValue = None
    """The value to put; ignored when `remove` is true."""
    remove: bool = False
    """True: the key goes."""
    why: str
    """The reason, shown in the plan."""

    @field_validator("pointer")
    @classmethod
    def _check_pointer(cls, pointer: str) -> str:
        if not pointer.startswith("/"):
            raise ValueError(f"expected a JSON pointer that starts with /, found {pointer!r}")
        return pointer
