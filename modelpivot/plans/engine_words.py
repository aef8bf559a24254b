"""Words of a serving command line as recipes keep them: flags without dashes and their values. Pure; what cannot be kept is told with its reason."""

import json
import math
import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from modelpivot.models.recipe import FLAG, OWN_FLAGS, Scalar

SHORT = {
    "-tp": "tensor-parallel-size",
    "-pp": "pipeline-parallel-size",
    "-dp": "data-parallel-size",
    "-dcp": "decode-context-parallel-size",
    "-ep": "enable-expert-parallel",
    "-q": "quantization",
    "-cc": "compilation-config",
    "-O": "optimization-level",
}
NUMBER = re.compile(r"-?\d+")
DECIMAL = re.compile(r"-?\d*\.\d+(?:[eE]-?\d+)?|-?\d+[eE]-?\d+")
LONGEST_NUMBER = 18
"""Digits; a longer one stays the word that it is."""
Value = Scalar | list[str]


class Words(NamedTuple):
    """Flags in their order, and what is none."""

    flags: dict[str, Value]
    left: list[str]
    """One phrase for each word that is not kept."""


def parse_words(words: object) -> Words:
    """Flags of a list of words, or of one line. A flag that stands twice keeps its last value, as the engine reads it."""
    split = _split(words)
    flags: dict[str, Value] = {}
    left: list[str] = []
    at = 0
    while at < len(split):
        name, value, at = _take(split, at)
        if name is None:
            left.append(f"{value}: no flag stands before it")
        elif name in OWN_FLAGS:
            flags[name] = value
        elif not FLAG.fullmatch(name) or _is_unsafe(value):
            left.append(f"--{name}: not a flag that a recipe can hold")
        else:
            flags.pop(name, None)
            flags[name] = value
    return Words(flags, left)


def _split(words: object) -> list[str]:
    if isinstance(words, str):
        try:
            return shlex.split(words)
        except ValueError:
            return words.split()
    if isinstance(words, dict):
        return [part for name, value in words.items() for part in (f"--{name}", *([] if value is True or value is None else [_say(value)]))]
    if words is None:
        return []
    return [_say(word) for word in words if word is not None] if isinstance(words, Sequence) else [_say(words)]


def _say(value: object) -> str:
    """A word as an engine takes it: objects and truth as JSON has them, not as Python writes them."""
    return json.dumps(value, default=str) if isinstance(value, bool | dict | list) else str(value)


def _take(words: Sequence[str], at: int) -> tuple[str | None, Value, int]:
    """The flag at a place with its values, and where the next one begins."""
    word = words[at]
    if not _is_flag(word):
        return None, word, at + 1
    name, has_value, value = word.partition("=")
    flag = _name(name)
    if has_value:
        return flag, _typed(value), at + 1
    stop = at + 1
    while stop < len(words) and not _is_flag(words[stop]):
        stop += 1
    values = list(words[at + 1 : stop])
    return flag, True if not values else _typed(values[0]) if len(values) == 1 else values, stop


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not NUMBER.fullmatch(word) and not DECIMAL.fullmatch(word)


def _name(word: str) -> str:
    """Dashes off, short ones spelled out, underscores of the first part as dashes: `--kernel-config.enable_x` keeps its tail."""
    short = next((short for short in SHORT if word == short or word.startswith(f"{short}.")), None)
    plain = SHORT[short] + word[len(short) :] if short else word.lstrip("-")
    head, dot, tail = plain.partition(".")
    return head.replace("_", "-") + dot + tail


def _typed(value: str) -> Scalar:
    """Numbers as numbers; true and false stay words, for a value is not a bare flag."""
    if NUMBER.fullmatch(value):
        return int(value) if len(value) <= LONGEST_NUMBER else value
    is_number = DECIMAL.fullmatch(value) and math.isfinite(float(value))
    return float(value) if is_number else value


def _is_unsafe(value: Value) -> bool:
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, str) and ("\n" in part or "\0" in part) for part in parts)
