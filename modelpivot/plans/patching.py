"""Patches carried out on texts: one JSON value changed at a time, every other byte kept; and what differs, for a person to read. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from pydantic import JsonValue

from modelpivot.errors import PreconditionError
from modelpivot.models.json_text import find_places, read_json, remove_member, replace_value
from modelpivot.models.patched import PatchedFile
from modelpivot.models.pointer import NOWHERE, Nowhere, is_same, say_json, value_at
from modelpivot.models.recipe import Patch

LONGEST_LINE = 160
"""Characters of a line that are shown whole; a config in one line is cut around what changed."""
AROUND = 50


def apply_patch(text: str, patch: Patch) -> str:
    """The text with the value at the pointer changed or removed; unchanged when it is so already.

    PreconditionError when the text is no JSON, a key stands twice on the way, or another value than the expected one is there.
    """
    document = parse(text, patch.file)
    found = value_at(document, patch.pointer)
    places = find_places(text, patch.pointer)
    if len(places) > 1:
        raise PreconditionError(
            f"{patch.file}: {patch.pointer}: a key on the way stands {len(places)} times; not changed", hint="mend the file upstream"
        )
    if is_applied(found, patch):
        return text
    require_expected(found, patch)
    return remove_member(text, places[0]) if patch.remove else replace_value(text, places[0], patch.new)


def apply_patches(texts: Mapping[str, str], patches: Iterable[Patch]) -> dict[str, str]:
    """The new text of every file that patches change, each patch on what those before it left; patches of files that are not there are passed over."""
    changed: dict[str, str] = {}
    for patch in patches:
        if patch.file in texts:
            changed[patch.file] = apply_patch(changed.get(patch.file, texts[patch.file]), patch)
    return {file: text for file, text in changed.items() if text != texts[file]}


def describe_patched(texts: Mapping[str, str], changed: Mapping[str, str], patches: Sequence[Patch]) -> list[PatchedFile]:
    """Every changed file with its digests, its diff and the reasons."""
    return [
        PatchedFile(
            file=file,
            before=digest(texts[file]),
            after=digest(text),
            diff=diff_lines(texts[file], text),
            why=[patch.why for patch in patches if patch.file == file],
        )
        for file, text in sorted(changed.items())
    ]


def digest(text: str) -> str:
    """sha256 of the text as it stands in a file."""
    return hashlib.sha256(text.encode()).hexdigest()


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
    """The document. PreconditionError when it is no JSON that can be read, with the reason."""
    try:
        return read_json(text)
    except ValueError as error:
        raise PreconditionError(f"{name}: not JSON: {error}", hint="fetch it again, or look at what the repository holds") from error


def diff_lines(before: str, after: str) -> list[str]:
    """The lines that differ, with `-` and `+` in front, in the file's order."""
    old, new = before.split("\n"), after.split("\n")
    lines: list[str] = []
    for word, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if word != "equal":
            lines += _pair(old[old_from:old_to], new[new_from:new_to])
    return lines


def _pair(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """One stretch that differs; a pair of long lines is cut to what differs between the two."""
    if len(old) == len(new) == 1 and max(len(old[0]), len(new[0])) > LONGEST_LINE:
        return [f"{sign} {line}" for sign, line in zip("-+", _cut(old[0], new[0]), strict=True)]
    return [f"- {line.rstrip()}" for line in old] + [f"+ {line.rstrip()}" for line in new]


def _cut(old: str, new: str) -> tuple[str, str]:
    shortest = min(len(old), len(new))
    front = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    back = next((at for at in range(shortest - front) if old[-1 - at] != new[-1 - at]), shortest - front)
    return _window(old, front, len(old) - back), _window(new, front, len(new) - back)


def _window(line: str, start: int, end: int) -> str:
    first, last = max(0, start - AROUND), min(len(line), end + AROUND)
    return f"{'... ' if first else ''}{line[first:last]}{' ...' if last < len(line) else ''}"
