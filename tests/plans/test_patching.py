"""One value changes and every other byte stays, for any JSON in any layout."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from modelpivot.errors import PreconditionError
from modelpivot.models.pointer import NOWHERE, is_same, value_at
from modelpivot.models.recipe import Patch
from modelpivot.plans.patching import apply_patch, apply_patches, describe_patched, diff_lines

CONFIG = """{
    "architectures": ["KimiK25ForConditionalGeneration"],
    "quantization_config": {
        "quant_method": "modelopt",   "ignore": [ "a",  "b\\"}" ],
        "kv_cache_scheme": {
            "dynamic": false,
            "num_bits": 8, "type": "float"
        },
        "producer": {"name":"modelopt"}
    },
\t"last":  1e-05
}
"""
SCHEME = {"dynamic": False, "num_bits": 8, "type": "float"}
TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20)


def patch(pointer: str, **fields: Any) -> Patch:
    """A patch with a reason."""
    return Patch(pointer=pointer, why="test", **fields)


def lay_out(value: JsonValue, dice: random.Random) -> str:
    """The value as JSON in a layout that no writer would choose: blanks anywhere, escapes at will, `1` as `1` and floats as they come."""

    def gap() -> str:
        return "".join(dice.choices(" \n\t\r", k=dice.choice((0, 0, 1, 3))))

    def text(word: str) -> str:
        return json.dumps(word, ensure_ascii=dice.random() < 0.5)

    if isinstance(value, dict):
        body = ",".join(f"{gap()}{text(key)}{gap()}:{gap()}{lay_out(item, dice)}{gap()}" for key, item in value.items())
        return "{" + (body or gap()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{gap()}{lay_out(item, dice)}{gap()}" for item in value) or gap()) + "]"
    return text(value) if isinstance(value, str) else json.dumps(value)


def pointers(value: JsonValue, prefix: str = "") -> list[str]:
    """Every place in the document below its root."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, item in members:
        here = f"{prefix}/{str(key).replace('~', '~0').replace('/', '~1')}"
        found += [here, *pointers(item, here)]
    return found


def patched(document: JsonValue, pointer: str, new: JsonValue, *, remove: bool) -> JsonValue:
    """The document changed as Python values: what the text must say."""
    result: Any = json.loads(json.dumps(document))
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    holder = result
    for part in parts[:-1]:
        holder = holder[int(part)] if isinstance(holder, list) else holder[part]
    key: Any = int(parts[-1]) if isinstance(holder, list) else parts[-1]
    if remove:
        del holder[key]
    else:
        holder[key] = new
    return result  # type: ignore[no-any-return]


@given(document=DOCUMENTS, new=DOCUMENTS, remove=st.booleans(), seed=st.integers(0, 2**32), data=st.data())
def test_the_text_says_what_the_patched_document_says(
    document: JsonValue, new: JsonValue, remove: bool, seed: int, data: st.DataObject
) -> None:
    """For any JSON, any layout and any place in it; everything before and after the cut is kept."""
    places = pointers(document)
    if not places:
        return
    pointer = data.draw(st.sampled_from(places))
    text = lay_out(document, random.Random(seed))
    old = value_at(document, pointer)
    assert old is not NOWHERE
    changed = apply_patch(text, patch(pointer, expected=old, new=new, remove=remove))
    if not remove and is_same(old, new):
        assert changed == text
        return
    assert json.loads(changed) == patched(document, pointer, new, remove=remove)
    assert _is_one_cut(text, changed, json.dumps(new, ensure_ascii=False) if not remove else "")


def _is_one_cut(before: str, after: str, put: str) -> bool:
    """Whether `after` is `before` with one stretch replaced by `put`."""
    return any(
        before.startswith(after[:at]) and after[at : at + len(put)] == put and before[at:].endswith(after[at + len(put) :])
        for at in range(len(after) - len(put) + 1)
    )


def test_a_removed_key_takes_its_lines_and_nothing_else() -> None:
    """Byte for byte the file without the key's own lines."""
    removed = apply_patch(CONFIG, patch("/quantization_config/kv_cache_scheme", expected=SCHEME, remove=True))
    start = CONFIG.index('"kv_cache_scheme"')
    assert removed == CONFIG[:start] + CONFIG[CONFIG.index('"producer"') :]


def test_a_removed_last_key_leaves_no_comma() -> None:
    """The comma before it goes, the bracket's indentation stays."""
    assert apply_patch('{\n  "a": 1,\n  "b": 2\n}\n', patch("/b", expected=2, remove=True)) == '{\n  "a": 1\n}\n'


def test_null_is_put_where_the_key_must_stay() -> None:
    """NVFP4 needs the key: its value alone changes."""
    text = '{"quantization": {"quant_algo": "NVFP4",  "kv_cache_quant_algo" : "FP8"}}'
    changed = apply_patch(text, patch("/quantization/kv_cache_quant_algo", expected="FP8", new=None))
    assert changed == text.replace('"FP8"', "null")


def test_applying_it_again_changes_nothing() -> None:
    """Removed stays removed, new stays new."""
    for one in (patch("/last", expected=1e-05, remove=True), patch("/last", expected=1e-05, new="x")):
        once = apply_patch(CONFIG, one)
        assert apply_patch(once, one) == once


@pytest.mark.parametrize(
    ("pointer", "expected", "found"),
    [
        ("/last", 2, "1e-05"),
        ("/quantization_config/kv_cache_scheme", {"num_bits": 8}, '"dynamic"'),
        ("/quantization_config/kv_cache_scheme/dynamic", 0, "false"),
        ("/quantization_config/absent", None, "nothing"),
        ("/architectures/1", "x", "nothing"),
        ("/architectures/00", "x", "nothing"),
    ],
)
def test_another_value_than_expected_is_not_changed(pointer: str, expected: JsonValue, found: str) -> None:
    """The message names file, pointer, expected and found; false is not 0 and nothing is not null."""
    with pytest.raises(PreconditionError) as caught:
        apply_patch(CONFIG, patch(pointer, expected=expected, new="other"))
    message = caught.value.message
    assert "config.json" in message
    assert pointer in message
    assert json.dumps(expected) in message
    assert found in message


@pytest.mark.parametrize("text", ["", "{", "not json", '{"a": 1,}', "\ufeff{}"])
def test_what_is_no_json_is_refused(text: str) -> None:
    """Named with the file, never half changed."""
    with pytest.raises(PreconditionError, match="not JSON"):
        apply_patch(text, patch("/a", expected=1, new=2))


def test_a_key_that_stands_twice_is_not_changed() -> None:
    """Readers disagree on which of them counts, so neither is touched."""
    with pytest.raises(PreconditionError, match="stands 2 times"):
        apply_patch('{"a": 1, "a": 2}', patch("/a", expected=2, new=3))


def test_each_patch_stands_on_what_those_before_it_left() -> None:
    """Two of one file, one of a file that is not there."""
    patches = [patch("/a", expected=1, new=2), patch("/a", expected=2, new=3), patch("/a", expected=9, file="other.json")]
    assert apply_patches({"config.json": '{"a": 1}', "more.json": "{}"}, patches) == {"config.json": '{"a": 3}'}


def test_files_that_stand_as_they_are_to_be_are_not_among_the_changed() -> None:
    """Applied already: nothing to do."""
    assert apply_patches({"config.json": '{"a": 2}'}, [patch("/a", expected=1, new=2)]) == {}


def test_the_diff_has_the_changed_lines_and_no_other() -> None:
    """In the file's order, with their sign."""
    changed = apply_patch(CONFIG, patch("/last", expected=1e-05, new=2))
    assert diff_lines(CONFIG, changed) == ['- \t"last":  1e-05', '+ \t"last":  2']


def test_a_file_in_one_line_is_cut_around_the_change() -> None:
    """A person sees the place, not 20 kB."""
    text = json.dumps({"front": "x" * 5000, "a": 1, "back": "y" * 5000})
    changed = apply_patch(text, patch("/a", expected=1, new=2))
    [old, new] = diff_lines(text, changed)
    assert '"a": 1,' in old and '"a": 2,' in new and len(old) < 200 > len(new) and old[0] == "-" and new[0] == "+"


@given(document=DOCUMENTS, data=st.data(), seed=st.integers(0, 2**32))
def test_any_change_has_a_diff(document: JsonValue, data: st.DataObject, seed: int) -> None:
    """Whatever is taken away, something is shown, and the digests differ."""
    places = pointers(document)
    if not places:
        return
    pointer, text = data.draw(st.sampled_from(places)), lay_out(document, random.Random(seed))
    old = value_at(document, pointer)
    assert old is not NOWHERE
    gone = patch(pointer, expected=old, remove=True)
    [described] = describe_patched({"config.json": text}, apply_patches({"config.json": text}, [gone]), [gone])
    assert described.diff and described.before != described.after and described.why == ["test"]
