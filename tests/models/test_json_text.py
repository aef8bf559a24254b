"""Odd JSON: what a reader takes and what it refuses, in words and never with another exception."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelpivot.models.json_text import DEEPEST, find_places, read_json, remove_member, replace_value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "\ufeff{}",
        '{"a": 1,}',
        "{'a': 1}",
        "[" * 100_000,
        "[" * 500 + "]" * 500,
        '{"a": ' * 300 + "1" + "}" * 300,
        '"\\ud800"',
        '{"\\udc00": 1}',
        "1" * 5000,
        '{"a": 1} // said so',
        '{"a": "\x01"}',
    ],
)
def test_what_cannot_be_understood_has_a_reason(text: str) -> None:
    """ValueError: broken, too deep, half a character, a number without end."""
    with pytest.raises(ValueError, match=r"\S"):
        read_json(text)


@pytest.mark.parametrize(
    "text", ["[1]", "null", '{"a": NaN, "b": -Infinity, "c": 1e999}', '{"a": 1, "a": 2}', "1" * 4000, "[" * 90 + "]" * 90]
)
def test_what_an_engine_reads_is_read(text: str) -> None:
    """Not every odd thing is wrong; of two equal keys the last counts."""
    document = read_json(text)
    assert document != {"a": 1}
    assert DEEPEST > 90


@given(st.text(alphabet='{}[]":,\\ue0123456789-. \n\tnulltrefasNI\ufeff', max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but ValueError; and what is read has each of its members where `find_places` says."""
    try:
        document = read_json(text)
    except ValueError:
        return
    if isinstance(document, dict) and document:
        key = next(iter(document))
        places = find_places(text, "/" + key.replace("~", "~0").replace("/", "~1"))
        assert len(places) >= 1
        if len(places) == 1:
            assert key not in json.loads(remove_member(text, places[0]))
            assert json.loads(replace_value(text, places[0], "put"))[key] == "put"
