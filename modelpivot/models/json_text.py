"""A JSON text as it stands in a file: read with every odd input refused in words, and where one member of it stands, so that it can be cut out.

A scanner walks the text once along the pointer and gives the places of the value, its key and its commas; a change is a cut in the text.
"""

import json
import re
from dataclasses import dataclass

from pydantic import JsonValue

from modelpivot.models.pointer import is_index, split_pointer

SPACE = re.compile(r"[ \t\n\r]*")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
SCALAR = re.compile(r"[^\s,\]}]+")
DEEPEST = 100
"""Levels of nesting that are looked into; no config.json of a model has ten."""


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


def read_json(text: str) -> JsonValue:
    """The document, the last of several equal keys counting as it does for an engine. ValueError with its reason: no JSON, nested too deeply, half a
    character (a lone surrogate), a number too long to read."""
    try:
        document: JsonValue = json.loads(text)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    _require_shallow(document)
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a string holds half a character (a lone surrogate)") from None
    return document


def _require_shallow(document: JsonValue) -> None:
    level: list[JsonValue] = [document]
    for _ in range(DEEPEST):
        level = [each for value in level for each in _inner(value)]
        if not level:
            return
    raise ValueError(f"nested deeper than {DEEPEST} levels")


def _inner(value: JsonValue) -> list[JsonValue]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def find_places(text: str, pointer: str) -> list[Place]:
    """Every member that the pointer may mean: more than one where a key stands twice on the way, none where it leads nowhere. The text is JSON."""
    at, fitting = _skip(text, 0), list[Place]()
    for part in split_pointer(pointer):
        if text[at] not in "{[":
            return []
        fitting = [place for key, place in _members(text, at) if _is_meant(part, key)]
        if len(fitting) != 1:
            return fitting
        at = fitting[0].value
    return fitting


def _is_meant(part: str, key: str | int) -> bool:
    return is_index(part) and int(part) == key if isinstance(key, int) else key == part


def replace_value(text: str, place: Place, value: JsonValue) -> str:
    """With another value at the place."""
    return text[: place.value] + json.dumps(value, ensure_ascii=False) + text[place.end :]


def remove_member(text: str, place: Place) -> str:
    """Without the member and one comma; the indentation of what follows, or of the closing bracket, stays."""
    if place.next_start is not None:
        return text[: place.start] + text[place.next_start :]
    if place.previous_end is not None:
        return text[: place.previous_end] + text[place.end :]
    return text[: place.container[0]] + text[place.container[1] :]


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
