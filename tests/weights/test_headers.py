"""Headers and indexes, whatever bytes they are made of."""

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelpivot.errors import IntegrityError
from modelpivot.weights.headers import BadHeader, parse_header, read_header
from modelpivot.weights.index import judge_index, parse_index

names = st.text(min_size=1, max_size=12).filter(lambda name: name != "__metadata__")
sizes = st.lists(st.integers(0, 5), max_size=3)


def packed(shapes: dict[str, list[int]]) -> tuple[bytes, int]:
    """A header of U8 tensors one behind the other, and the bytes of their data."""
    header, at = {}, 0
    for name, shape in shapes.items():
        length = 1
        for each in shape:
            length *= each
        header[name] = {"dtype": "U8", "shape": shape, "data_offsets": [at, at + length]}
        at += length
    return json.dumps(header).encode(), at


@given(st.dictionaries(names, sizes, max_size=6))
def test_packed_header_is_read_back(shapes: dict[str, list[int]]) -> None:
    """Every well-formed header gives back its tensors."""
    text, length = packed(shapes)
    header = parse_header(text, length)
    assert {name: list(tensor.shape) for name, tensor in header.tensors.items()} == shapes


@given(st.dictionaries(names, sizes, max_size=6), st.integers(-3, 3).filter(bool))
def test_data_of_another_length_is_never_accepted(shapes: dict[str, list[int]], difference: int) -> None:
    """Cut or grown data does not fit the offsets."""
    text, length = packed(shapes)
    with pytest.raises(BadHeader) as caught:
        parse_header(text, length + difference)
    assert caught.value.code == "OFFSETS_INVALID"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_header_or_a_bad_header(content: bytes) -> None:
    """No content makes anything else than a Header or a BadHeader."""
    try:
        parse_header(content, len(content))
    except BadHeader as error:
        assert error.code in ("HEADER_INVALID", "OFFSETS_INVALID")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1 << 70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "__metadata__"]), json_values))
def test_any_json_is_a_header_or_a_bad_header(document: dict[str, object]) -> None:
    """Wrong types anywhere are BadHeader."""
    try:
        parse_header(json.dumps(document).encode(), 0)
    except BadHeader as error:
        assert error.message


@settings(max_examples=50)
@given(length=st.integers(0, 2**64 - 1), rest=st.binary(max_size=64))
def test_claimed_length_never_makes_it_read_more_than_there_is(length: int, rest: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the first 8 bytes claim, up to 2^64, the answer is a Header or a BadHeader, at once."""
    path = tmp_path_factory.mktemp("header") / "x.safetensors"
    path.write_bytes(struct.pack("<Q", length) + rest)
    try:
        read_header(path)
    except BadHeader as error:
        assert error.code in ("HEADER_INVALID", "HEADER_TOO_LARGE", "OFFSETS_INVALID")


@pytest.mark.parametrize(
    ("first", "second"),
    [([0, 4], [2, 6]), ([0, 4], [5, 9]), ([1, 5], [5, 9]), ([4, 0], [4, 8]), ([0, 4], [0, 4])],
)
def test_overlaps_and_gaps_are_invalid(first: list[int], second: list[int]) -> None:
    """Tensors fill the data one after the other."""
    header = {name: {"dtype": "F32", "shape": [1], "data_offsets": offsets} for name, offsets in (("a", first), ("b", second))}
    with pytest.raises(BadHeader) as caught:
        parse_header(json.dumps(header).encode(), 8)
    assert caught.value.code == "OFFSETS_INVALID"


def test_size_of_a_tensor_must_fit_its_dtype_and_shape() -> None:
    """BF16 of 2 x 3 is 12 bytes; a dtype that is not known is taken at its word."""
    good = {"a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}
    assert parse_header(json.dumps(good).encode(), 12).dtypes == "BF16"
    with pytest.raises(BadHeader, match="12 bytes"):
        parse_header(json.dumps({"a": {**good["a"], "data_offsets": [0, 6]}}).encode(), 6)
    assert parse_header(json.dumps({"a": {**good["a"], "dtype": "NEW9"}}).encode(), 12).dtypes == "NEW9"


@given(st.text(max_size=60))
def test_any_text_is_an_index_or_an_integrity_error(text: str) -> None:
    """Nothing else comes out of an index."""
    try:
        assert parse_index(text)
    except IntegrityError as error:
        assert error.message


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["s1", "s2", "s3"]), min_size=1))
def test_index_made_of_the_headers_has_no_problem_and_any_change_has_one(weight_map: dict[str, str]) -> None:
    """The index and headers that agree are silent; one tensor moved, lost or added is told."""
    headers = {shard: {name for name, at in weight_map.items() if at == shard} for shard in ("s1", "s2", "s3")}
    assert judge_index("i", weight_map, headers, headers) == []
    name, shard = next(iter(weight_map.items()))
    without = {key: at for key, at in weight_map.items() if key != name}
    assert [problem.code for problem in judge_index("i", without, headers, headers)] == ["INDEX_STALE"]
    lost = {key: set(found) - {name} for key, found in headers.items()}
    assert [problem.code for problem in judge_index("i", weight_map, lost, lost)] == ["TENSOR_MISSING"]
    other = next(each for each in ("s1", "s2") if each != shard)
    twice = {**headers, other: headers[other] | {name}}
    assert [problem.code for problem in judge_index("i", weight_map, twice, twice)] == ["TENSOR_DUPLICATE"]
    moved = {**lost, other: lost[other] | {name}}
    assert [problem.code for problem in judge_index("i", weight_map, moved, moved)] == ["INDEX_STALE"]


def test_header_of_a_file_without_tensors_is_empty(tmp_path: Path) -> None:
    """A file of no tensors is a header of none."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", 2) + b"{}")
    assert read_header(path).tensors == {}
