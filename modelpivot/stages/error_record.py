"""An error of ours on disk, complete enough to be raised again in its class: children end with one, a run's last event carries one."""

from pydantic import Field, JsonValue

from modelpivot import errors, waiting
from modelpivot.errors import PivotError
from modelpivot.models.frozen import Frozen


class ErrorRecord(Frozen):
    """Class, sentence, hint and attributes of an error."""

    kind: str
    message: str
    hint: str = ""
    exit_code: int = 1
    attributes: dict[str, JsonValue] = Field(default_factory=dict)


def record_error(error: PivotError) -> ErrorRecord:
    """An error of ours as plain data; attributes that JSON cannot hold become their text."""
    values = {key: value for key, value in vars(error).items() if key != "hint"}
    plain = {key: _as_json(value) for key, value in values.items()}
    return ErrorRecord(kind=type(error).__name__, message=error.message, hint=error.hint, exit_code=error.exit_code, attributes=plain)


def rebuild_error(record: ErrorRecord) -> PivotError:
    """The error in its own class; a class that is not ours becomes a plain PivotError that names it."""
    kind = getattr(errors, record.kind, None) or getattr(waiting, record.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, PivotError)):
        return PivotError(f"{record.kind}: {record.message}", hint=record.hint)
    error = kind(record.message, hint=record.hint)
    for key, value in record.attributes.items():
        setattr(error, key, tuple(value) if isinstance(value, list) else value)
    return error


def _as_json(value: object) -> JsonValue:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return str(value)
