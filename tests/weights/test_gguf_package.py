"""Our reader of GGUF held against the format's own package: what its writer writes we read as its reader does, types and sizes alike."""

from pathlib import Path

import gguf
import numpy as np
import pytest

from modelpivot.weights.gguf import Split, read_gguf
from modelpivot.weights.gguf_types import TYPES
from modelpivot.weights.headers import BadHeader

SHAPES = {"token_embd.weight": (8, 64), "blk.0.attn_q.weight": (16, 32), "blk.1.ffn_up.weight": (3, 5, 32), "output_norm.weight": (33,)}


def write(path: Path, *, split_max_tensors: int = 0) -> list[Path]:
    """A model by the package's own writer, with values of every kind; the files it became."""
    writer = gguf.GGUFWriter(path, "llama", split_max_tensors=split_max_tensors)
    writer.add_block_count(2)
    writer.add_float32("llama.rope.freq_base", 1e6)
    writer.add_bool("tokenizer.ggml.add_bos_token", True)
    writer.add_array("tokenizer.ggml.tokens", ["a", "ä", "<s>"])
    writer.add_array("tokenizer.ggml.scores", [0.5, -1.0, float("inf")])
    for number, (name, shape) in enumerate(SHAPES.items()):
        kind = np.float32 if number % 2 else np.float16
        writer.add_tensor(name, np.arange(np.prod(shape), dtype=kind).reshape(shape))
    quantized = np.zeros((4, 34 * 2), dtype=np.uint8)
    writer.add_tensor("blk.1.ffn_down.weight", quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sorted(path.parent.glob("*.gguf"))


def test_tensors_are_those_that_the_package_reads(tmp_path: Path) -> None:
    """Name, type, shape, place and size of every tensor."""
    [path] = write(tmp_path / "m.gguf")
    header, split = read_gguf(path)
    theirs = gguf.GGUFReader(path)
    begin = theirs.data_offset
    assert split == Split(0, 1, 0) and len(theirs.tensors) == len(SHAPES) + 1
    assert {name: (tensor.dtype, tensor.shape, tensor.begin, tensor.end) for name, tensor in header.tensors.items()} == {
        each.name: (
            each.tensor_type.name,
            tuple(map(int, each.shape)),
            int(each.data_offset) - begin,
            int(each.data_offset) - begin + int(each.n_bytes),
        )
        for each in theirs.tensors
    }


def test_split_by_the_package_is_read_part_by_part(tmp_path: Path) -> None:
    """Parts, their count and the tensors of all of them together."""
    paths = write(tmp_path / "m.gguf", split_max_tensors=2)
    read = [read_gguf(path) for path in paths]
    assert len(paths) == 3
    assert [split for _, split in read] == [Split(number, 3, len(SHAPES) + 1) for number in range(3)]
    assert {name for header, _ in read for name in header.tensors} == {*SHAPES, "blk.1.ffn_down.weight"}


@pytest.mark.parametrize("cut", [1, 100, 500])
def test_file_cut_inside_its_last_tensor_has_invalid_offsets(tmp_path: Path, cut: int) -> None:
    """Type and shape say how long the last tensor is (W3)."""
    [path] = write(tmp_path / "m.gguf")
    path.write_bytes(path.read_bytes()[:-cut] if cut > 1 else path.read_bytes().rstrip(b"\0")[: -34 * 4])
    with pytest.raises(BadHeader) as caught:
        read_gguf(path)
    assert caught.value.code == "OFFSETS_INVALID"


def test_types_are_those_of_the_format() -> None:
    """Number, name and block of every type that we list are the package's."""
    for number, kind in TYPES.items():
        theirs = gguf.GGMLQuantizationType(number)
        assert (kind.name, (kind.block_values, kind.block_bytes)) == (theirs.name, tuple(gguf.GGML_QUANT_SIZES[theirs]))
    assert len(TYPES) >= 31
