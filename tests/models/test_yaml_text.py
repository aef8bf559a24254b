"""Odd YAML: what the reader takes and what it refuses, in words and never with another exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelpivot.models.yaml_text import MOST_VALUES, read_yaml

TENFOLD = "".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12))


@pytest.mark.parametrize(
    "text",
    [
        "a: b: c",
        "[" * 3000,
        "{a: " * 1500 + "1" + "}" * 1500,
        "[" * 150 + "]" * 150,
        "a: &a {b: *a}",
        "a: *b",
        f"a0: &a0 x\n{TENFOLD}",
        "a: " + "9" * 6000,
        "a: 0x" + "f" * 6000,
        "a: !!int x",
        "a: !!float x",
        "a: !!bool x",
        "a: !!binary é",
        "a: !!python/object/apply:os.system [id]",
        'a: "\\ud800"',
        '"\\ud800": 1',
        "? [a]\n: b",
        "a: 1\n---\nb: 2",
        b"\xff\xfe\x00",
        b"a: \xff",
        "a: \x00",
        "<<: [1]",
        "a: 1\nb: 2\na: 1",
        "'a': 1\na: 2",
        "- {x: 1, x: 1}",
        "<<: {a: 1}\n<<: {b: 1}",
    ],
)
def test_what_cannot_be_understood_has_a_reason(text: str | bytes) -> None:
    """ValueError in words of one line: broken, too deep, without end, a value that is none of its kind."""
    with pytest.raises(ValueError, match=r"\A[^\n]{8,}\Z"):
        read_yaml(text)


def test_the_place_is_told() -> None:
    """Line, column, and what was found there."""
    with pytest.raises(ValueError, match=r"line 2, column 7: 'x' is no int"):
        read_yaml("a: 1\nsize: !!int x\n")


def test_a_key_that_stands_twice_is_named_with_both_places() -> None:
    """Whoever reads the first would believe in it, and the last would count."""
    with pytest.raises(ValueError, match=r"line 4, column 3: the key 'port' stands twice, first in line 2"):
        read_yaml("serve:\n  port: 8000\n  gpus: 8\n  port: 9000\n")


def test_a_merged_key_may_be_written_over() -> None:
    """That is what a merge is for; also where what is merged was itself merged, and is used twice."""
    text = "a: &a {x: 1, y: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b, y: 3}\nd: {<<: [*a, *b], x: 4}"
    a, b = {"x": 1, "y": 1}, {"x": 2, "y": 1}
    assert read_yaml(text) == {"a": a, "b": b, "c": {"x": 2, "y": 3}, "d": {"x": 4, "y": 1}}
    assert read_yaml("1: a\n'1': b") == {1: "a", "1": "b"}


def test_dates_are_words() -> None:
    """Even one that no calendar has: no field of ours is a date."""
    assert read_yaml("a: 2026-13-45\nb: 2026-01-27\nc: !!timestamp soon") == {"a": "2026-13-45", "b": "2026-01-27", "c": "soon"}


@pytest.mark.parametrize(
    ("text", "value"), [("", None), ("# a", None), (b"a: \xc3\xa9", {"a": "é"}), ("a: &x [1]\nb: *x", {"a": [1], "b": [1]})]
)
def test_what_yaml_allows_is_read(text: str | bytes, value: object) -> None:
    """No document, UTF-8, and an alias that stands for something."""
    assert read_yaml(text) == value


def test_many_values_are_read() -> None:
    """The limit is far above any file that somebody wrote."""
    assert MOST_VALUES > 10_000
    assert read_yaml(f"a: [{'1, ' * 10_000}]") == {"a": [1] * 10_000}


@given(st.text(alphabet="{}[]&*!?|>'\"%@`:,-\\ue01_.~<= \n\tabtruenlx#", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but ValueError."""
    try:
        read_yaml(text)
    except ValueError as error:
        assert str(error)
