"""GGUF, single and split: what no loader can use is told, and a part that is not there has a name."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelpivot.files import hash_file
from modelpivot.models.manifest import Manifest, ManifestFile, Verified
from modelpivot.weights.gguf import Split, read_gguf, split_name
from modelpivot.weights.headers import BadHeader
from modelpivot.weights.verify import verify_directory
from tests.weights.told import Told


def text(value: str) -> bytes:
    """A GGUF string."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def make_gguf(path: Path, tensors: list[str], *, split: tuple[int, int, int] | None = None, bytes_each: int = 64) -> Path:
    """A file as the format has it: version 3, a vocabulary, aligned tensors of F32."""
    values = [
        text("general.architecture") + struct.pack("<I", 8) + text("tiny"),
        text("general.alignment") + struct.pack("<II", 4, 32),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") + text("b") + text("ä"),
        text("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, 3) + struct.pack("<fff", 0, float("nan"), 1),
    ]
    for key, kind, form, value in zip(
        ("split.no", "split.count", "split.tensors.count"), (2, 2, 5), ("<H", "<H", "<i"), split or (), strict=False
    ):
        values.append(text(key) + struct.pack("<I", kind) + struct.pack(form, value))
    table = [text(name) + struct.pack("<IQIQ", 1, bytes_each // 4, 0, number * bytes_each) for number, name in enumerate(tensors)]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values) + b"".join(table)
    head += b"\0" * (-len(head) % 32)
    path.write_bytes(head + b"\x01" * (bytes_each * len(tensors)))
    return path


def verify(directory: Path) -> Verified:
    """Everything that lies there, by a manifest that names it as it is."""
    paths = sorted(path for path in directory.iterdir() if path.is_file())
    files = [ManifestFile(path=path.name, size=path.stat().st_size, sha256=hash_file(path)) for path in paths]
    return verify_directory(directory, Manifest(repo="acme/gguf", commit="a" * 40, files=files), tell=Told())


def test_single_file_is_read_and_complete(tmp_path: Path) -> None:
    """Tensors, types and no split."""
    header, split = read_gguf(make_gguf(tmp_path / "m.gguf", ["blk.0.w", "blk.1.w"]))
    assert set(header.tensors) == {"blk.0.w", "blk.1.w"} and header.dtypes == "F32" and split == Split(0, 1)
    verified = verify(tmp_path)
    assert verified.verdict.verdict == "complete" and verified.table[0].tensors == 2


def test_all_parts_of_a_split_are_complete(tmp_path: Path) -> None:
    """Three parts, the first without tensors as splitters make it."""
    for number, names in enumerate(([], ["a", "b"], ["c"])):
        make_gguf(tmp_path / f"m-{number + 1:05}-of-00003.gguf", names, split=(number, 3, 3))
    assert verify(tmp_path).verdict.problems == []


def test_missing_part_has_a_name(tmp_path: Path) -> None:
    """The other parts say how many there are; the one that is not there is MISSING by name, though no manifest names it (W4)."""
    for number in (0, 2):
        make_gguf(tmp_path / f"m-{number + 1:05}-of-00003.gguf", [f"t{number}"], split=(number, 3, 3))
    problems = verify(tmp_path).verdict.problems
    assert [(problem.file, problem.code) for problem in problems] == [("m-00002-of-00003.gguf", "MISSING")]


def test_part_under_another_parts_name_is_told(tmp_path: Path) -> None:
    """Name and metadata must agree."""
    for number, told in ((0, 0), (1, 0)):
        make_gguf(tmp_path / f"m-{number + 1:05}-of-00002.gguf", [f"t{number}"], split=(told, 2, 2))
    assert "INDEX_STALE" in {problem.code for problem in verify(tmp_path).verdict.problems}


def test_tensors_that_no_part_holds_are_counted(tmp_path: Path) -> None:
    """All parts there, but fewer tensors than they say."""
    for number in range(2):
        make_gguf(tmp_path / f"m-{number + 1:05}-of-00002.gguf", [f"t{number}"], split=(number, 2, 3))
    assert [problem.code for problem in verify(tmp_path).verdict.problems] == ["TENSOR_MISSING"]


def test_tensor_in_two_parts_is_told(tmp_path: Path) -> None:
    """TENSOR_DUPLICATE, as with shards."""
    for number in range(2):
        make_gguf(tmp_path / f"m-{number + 1:05}-of-00002.gguf", ["same"], split=(number, 2, 2))
    assert [problem.code for problem in verify(tmp_path).verdict.problems] == ["TENSOR_DUPLICATE"]


def test_file_cut_before_upload_has_invalid_offsets(tmp_path: Path) -> None:
    """The last tensor begins behind the end (W3)."""
    path = make_gguf(tmp_path / "m.gguf", ["a", "b", "c"], bytes_each=1024)
    path.write_bytes(path.read_bytes()[:-1500])
    problem = verify(tmp_path).verdict.problems[0]
    assert problem.code == "OFFSETS_INVALID" and "upstream is bad" in problem.remedy


@pytest.mark.parametrize("counts", [(2**62, 0), (0, 2**62), (2**64 - 1, 2**64 - 1)])
def test_counts_that_do_not_fit_are_refused_at_once(tmp_path: Path, counts: tuple[int, int]) -> None:
    """A header that claims 2^62 tensors or values is HEADER_TOO_LARGE, without reading on."""
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, *counts) + b"x" * 100)
    with pytest.raises(BadHeader) as caught:
        read_gguf(path)
    assert caught.value.code == "HEADER_TOO_LARGE"


@pytest.mark.parametrize("split", [(5, 3, 1), (3, 3, 1), (0, 3, -1)])
def test_split_that_cannot_be_is_refused(tmp_path: Path, split: tuple[int, int, int]) -> None:
    """Part 6 of 3, or fewer than no tensors."""
    with pytest.raises(BadHeader):
        read_gguf(make_gguf(tmp_path / "m.gguf", ["a"], split=split))


@settings(max_examples=200)
@given(cut=st.integers(0, 400), flip=st.integers(0, 400), value=st.integers(0, 255))
def test_any_damage_is_a_header_or_a_bad_header(cut: int, flip: int, value: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Cut anywhere and changed anywhere, nothing else than a Header or a BadHeader comes out."""
    path = make_gguf(tmp_path_factory.mktemp("gguf") / "m.gguf", ["a", "b"], split=(0, 2, 4))
    content = bytearray(path.read_bytes())
    content[min(flip, len(content) - 1)] = value
    path.write_bytes(content[: len(content) - cut])
    try:
        read_gguf(path)
    except BadHeader as error:
        assert error.code in ("HEADER_INVALID", "HEADER_TOO_LARGE", "OFFSETS_INVALID")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("m-00003-of-00010.gguf", ("m", Split(2, 10))),
        ("a/b-00001-of-00002.gguf", ("a/b", Split(0, 2))),
        ("m.gguf", None),
        ("m-1-of-2.gguf", None),
    ],
)
def test_names_of_parts(name: str, found: tuple[str, Split] | None) -> None:
    """The name says which part of how many."""
    assert split_name(name) == found
