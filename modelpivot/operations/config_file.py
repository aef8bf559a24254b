"""One value of a JSON file changed, every other byte kept. Works on text; needs no file.

A scanner walks the text once along the pointer and gives the places of the value, its key and its commas; the change is a cut in the text.
"""

import json
import re
from dataclasses import dataclass

from pydantic import JsonValue

from modelpivot.errors import PreconditionError
from modelpivot.models.pointer import NOWHERE, Nowhere, is_index, is_same, say_json, split_pointer, value_at
from modelpivot.models.recipe import Patch

SPACE = re.compile(r"[ \t\n\r]*")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
SCALAR = re.compile(r"[^\s,\]}]+")


@dataclass(frozen=True)
class Place:
    """Where one member of an object or array stands in the text."""

    start: int
    """Of the member: its key's quote, or the value itself in an array."""
    value: int
    end: int
    previous_end: int | None
    """End of the member before; None: it is the first."""
    next_start: int | None
    """Start of the member after; None: it is the last."""
    container: tuple[int, int]
    """Behind the opening bracket, and at the closing one."""


def apply_patch(text: str, patch: Patch) -> str:
    """The text with the value at the pointer changed or removed; unchanged when it is so already.

    PreconditionError when the text is no JSON, a key stands twice on the way, or another value than the expected one is there.
    """
    document = parse(text, patch.file)
    found = value_at(document, patch.pointer)
    if is_applied(found, patch):
        return text
    require_expected(found, patch)
    place = find_place(text, patch)
    return _removed(text, place) if patch.remove else text[: place.value] + json.dumps(patch.new, ensure_ascii=False) + text[place.end :]


def is_applied(found: JsonValue | Nowhere, patch: Patch) -> bool:
    """Whether the wanted value stands there, or nothing where the key was to go."""
    return found is NOWHERE if patch.remove else is_same(found, patch.new)


def require_expected(found: JsonValue | Nowhere, patch: Patch) -> None:
    """PreconditionError names pointer, expected and found value."""
    if found is NOWHERE or not is_same(found, patch.expected):
        raise PreconditionError(
            f"{patch.file}: {patch.pointer}: expected {say_json(patch.expected)}, found {say_json(found)}; not changed",
            hint="mend the patch in the recipe, or take it out if the model no longer needs it",
        )


def parse(text: str, name: str) -> JsonValue:
    """The document. PreconditionError when it is no JSON, with the place."""
    try:
        document: JsonValue = json.loads(text)
    except ValueError as error:
        raise PreconditionError(f"{name}: not JSON: {error}", hint="fetch it again, or look at what the repository holds") from error
    return document


def find_place(text: str, patch: Patch) -> Place:
    """Walk to the member that the pointer names. The text is JSON and the pointer leads somewhere."""
    at = _skip(text, 0)
    place: Place | None = None
    for part in split_pointer(patch.pointer):
        members = _members(text, at)
        fitting = [place for key, place in members if (is_index(part) and int(part) == key if isinstance(key, int) else key == part)]
        if len(fitting) != 1:
            raise PreconditionError(
                f"{patch.file}: {patch.pointer}: {part!r} stands {len(fitting)} times; not changed", hint="mend the file upstream"
            )
        place = fitting[0]
        at = place.value
    assert place is not None
    return place


def _members(text: str, at: int) -> list[tuple[str | int, Place]]:
    """Every member of the object or array that opens at `at`."""
    is_object, inside = text[at] == "{", at + 1
    spans: list[tuple[str | int, int, int, int]] = []
    at = _skip(text, inside)
    while text[at] not in "}]":
        start, key = at, len(spans)
        name: str | int = key
        if is_object:
            end_of_key = _end(text, at)
            name = json.loads(text[at:end_of_key])
            at = _skip(text, _skip(text, end_of_key) + 1)
        end = _end(text, at)
        spans.append((name, start, at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return [(span[0], _place(spans, index, (inside, at))) for index, span in enumerate(spans)]


def _place(spans: list[tuple[str | int, int, int, int]], index: int, container: tuple[int, int]) -> Place:
    _, start, value, end = spans[index]
    previous_end = spans[index - 1][3] if index else None
    next_start = spans[index + 1][1] if index + 1 < len(spans) else None
    return Place(start, value, end, previous_end, next_start, container)


def _end(text: str, at: int) -> int:
    """Where the value that starts at `at` ends; brackets are counted, strings passed over."""
    if text[at] == '"':
        return _match(STRING, text, at)
    if text[at] not in "{[":
        return _match(SCALAR, text, at)
    depth = 0
    while True:
        if text[at] == '"':
            at = _match(STRING, text, at)
            continue
        depth += (text[at] in "{[") - (text[at] in "}]")
        at += 1
        if depth == 0:
            return at


def _match(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None
    return found.end()


def _skip(text: str, at: int) -> int:
    return _match(SPACE, text, at)


def _removed(text: str, place: Place) -> str:
    """Without the member and one comma; the indentation of what follows, or of the closing bracket, stays."""
    if place.next_start is not None:
        return text[: place.start] + text[place.next_start :]
    if place.previous_end is not None:
        return text[: place.previous_end] + text[place.end :]
    return text[: place.container[0]] + text[place.container[1] :]
