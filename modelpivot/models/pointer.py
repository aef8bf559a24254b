"""JSON pointers (RFC 6901) and JSON equality: where a value stands in a document, and whether two values are the same to a JSON reader."""

import json

from pydantic import JsonValue

LONGEST_INDEX = 12
"""Digits; no array is longer, and a number without end cannot be read."""


class Nowhere:
    """Nothing stands at the pointer: another answer than null."""

    def __repr__(self) -> str:
        return "nothing"


NOWHERE = Nowhere()


def split_pointer(pointer: str) -> list[str]:
    """The parts of a pointer, unescaped: `/a~1b/0` gives `a/b` and `0`; the empty pointer is the whole document."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def is_index(part: str) -> bool:
    """True for a plain array index: digits without a leading zero."""
    return part == "0" or (part.isascii() and part.isdigit() and part[0] != "0" and len(part) < LONGEST_INDEX)


def value_at(document: JsonValue, pointer: str) -> JsonValue | Nowhere:
    """What stands at the pointer; NOWHERE when nothing does."""
    found: JsonValue = document
    for part in split_pointer(pointer):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and is_index(part) and int(part) < len(found):
            found = found[int(part)]
        else:
            return NOWHERE
    return found


def is_same(one: JsonValue | Nowhere, other: JsonValue | Nowhere) -> bool:
    """Equal as JSON: 8 and 8.0 are the same number, true is not 1, NaN is NaN, the order of keys says nothing."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, float) and isinstance(other, float) and one != one and other != other:
        return True
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def say_json(value: JsonValue | Nowhere) -> str:
    """The value as it would stand in a file; `nothing` where nothing stands."""
    return "nothing" if isinstance(value, Nowhere) else json.dumps(value, ensure_ascii=False)
