"""The header of a safetensors file: 8 bytes of length, then JSON, bounded, with codes of our own. Reads the header only, never the tensors.

{"__metadata__": {"format": "pt"}, "model.embed.weight": {"dtype": "BF16", "shape": [1024, 64], "data_offsets": [0, 131072]}, ...}
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from pydantic_core import from_json

from modelpivot.errors import IntegrityError
from modelpivot.models.manifest import ProblemCode

HEADER_MOST_BYTES = 100_000_000
"""What the safetensors library accepts."""
MOST_DIMENSIONS = 64
"""Of a tensor; no loader takes more, and a product of a million sizes takes hours."""
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


class BadHeader(IntegrityError):
    """A header that no loader can use; `code` is HEADER_INVALID, HEADER_TOO_LARGE or OFFSETS_INVALID."""

    def __init__(self, message: str, *, code: ProblemCode = "HEADER_INVALID", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


@dataclass(frozen=True)
class Tensor:
    """One tensor: bytes `begin` to `end` behind the header."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """The tensors of one file by name, in no order."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]

    @property
    def dtypes(self) -> str:
        """All dtypes of the file, sorted, comma separated."""
        return ",".join(sorted({tensor.dtype for tensor in self.tensors.values()}))


def read_header(path: Path) -> Header:
    """The header of a file, held against the file's size. BadHeader with a code; OSError when it cannot be read."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(first, "little") if len(first := file.read(8)) == 8 else None
        if length is None:
            raise BadHeader(f"expected at least 8 bytes, found {size}")
        if length > HEADER_MOST_BYTES:
            raise BadHeader(f"expected a header of at most {HEADER_MOST_BYTES:,} bytes, it claims {length:,}", code="HEADER_TOO_LARGE")
        if length + 8 > size:
            raise BadHeader(f"expected a header of {length:,} bytes, the file ends after {size - 8:,}")
        return parse_header(file.read(length), size - 8 - length)


def parse_header(text: bytes, data_bytes: int) -> Header:
    """The header from its JSON; `data_bytes` is what lies behind it. BadHeader with a code."""
    try:
        document = from_json(text)
    except ValueError as error:
        raise BadHeader(f"expected JSON, found {str(error)[:120]}") from error
    if not isinstance(document, dict):
        raise BadHeader(f"expected a JSON object, found {type(document).__name__}")
    metadata = document.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise BadHeader("__metadata__: expected names and texts")
    tensors = {name: _parse_tensor(name, entry) for name, entry in document.items()}
    _check_layout(tensors, data_bytes)
    return Header(tensors, metadata)


def _parse_tensor(name: str, entry: object) -> Tensor:
    if not isinstance(entry, dict):
        raise BadHeader(f"{name}: expected an object, found {type(entry).__name__}")
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or not _are_sizes(shape) or len(shape) > MOST_DIMENSIONS or not _are_sizes(offsets) or len(offsets) != 2:
        raise BadHeader(f"{name}: expected dtype, shape and two data_offsets, found {str(entry)[:120]}")
    tensor = Tensor(dtype, tuple(shape), offsets[0], offsets[1])
    if (bits := DTYPE_BITS.get(dtype)) is not None and math.prod(shape) * bits != (tensor.end - tensor.begin) * 8:
        found = f"{tensor.end - tensor.begin} bytes for {dtype} {list(shape)}"
        raise BadHeader(f"{name}: expected {min((math.prod(shape) * bits + 7) // 8, 2**63):,} bytes, found {found}", code="OFFSETS_INVALID")
    return tensor


def _are_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(each) is int and 0 <= each < 1 << 63 for each in value)


def _check_layout(tensors: dict[str, Tensor], data_bytes: int) -> None:
    """The tensors must fill the data without gap or overlap, as the format demands."""
    at = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if tensor.begin != at or tensor.end < tensor.begin:
            raise BadHeader(f"{name}: expected to begin at byte {at}, found {tensor.begin} to {tensor.end}", code="OFFSETS_INVALID")
        at = tensor.end
    if at != data_bytes:
        raise BadHeader(f"expected {at:,} bytes of tensors, found {data_bytes:,}", code="OFFSETS_INVALID")
