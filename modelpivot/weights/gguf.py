"""The header of a GGUF file: counts, metadata, tensor table, all bounded by the file's size. Reads no tensor.

The `gguf` package's reader believes what a header claims: 60 bytes that claim an array of 2^40 values keep it busy for hours, and it needs numpy.
So it is not used here; the tests hold this reader against that package's writer and its list of types.

A model may be split: `name-00001-of-00010.gguf` and so on, each with `split.no` (from 0) and `split.count` in its metadata.
"""

import itertools
import math
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from modelpivot.weights.gguf_types import TYPES, TensorType
from modelpivot.weights.headers import BadHeader, Header, Tensor

MAGIC = b"GGUF"
VERSIONS = (2, 3)
FIXED = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9
SPLIT_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")
NAME_MOST_BYTES = 1 << 16
SPLITS_MOST = 99_999


@dataclass(frozen=True)
class Split:
    """Which part of how many a file is; 0 of 1 for a file that is whole."""

    number: int
    count: int
    tensors: int = 0
    """Of all parts together, where the file says so; 0: it does not."""


def read_gguf(path: Path) -> tuple[Header, Split]:
    """Tensors and split of a file. BadHeader (HEADER_INVALID, OFFSETS_INVALID) when no loader can use it; OSError when it cannot be read."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 24 or file.read(4) != MAGIC:
            raise BadHeader(f"expected the magic {MAGIC.decode()} and 20 bytes more, found another file of {size} bytes")
        try:
            return _Reader(file, size).read()
        except UnicodeDecodeError as error:
            raise BadHeader(f"expected names in UTF-8, found {error}") from error


def split_name(path: str) -> tuple[str, Split] | None:
    """Stem and split by the file's name; None: its name says nothing of a split."""
    match = SPLIT_NAME.fullmatch(path)
    return (match[1], Split(int(match[2]) - 1, int(match[3]))) if match else None


class _Reader:
    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size, self._at = file, size, 4
        self._split, self._alignment = {"split.no": 0, "split.count": 0, "split.tensors.count": 0}, 32

    def read(self) -> tuple[Header, Split]:
        if (version := self._take("<I")) not in VERSIONS:
            raise BadHeader(f"expected GGUF version {' or '.join(map(str, VERSIONS))}, found {version}")
        tensors, values = self._take("<Q"), self._take("<Q")
        self._check_count(tensors, 24, "tensors")
        self._check_count(values, 13, "values")
        for _ in range(values):
            self._read_value(self._string())
        table = [self._read_tensor() for _ in range(tensors)]
        split = Split(self._split["split.no"], max(1, self._split["split.count"]), self._split["split.tensors.count"])
        if not 0 <= split.number < split.count <= SPLITS_MOST or split.tensors < 0:
            raise BadHeader(f"expected a part of at most {SPLITS_MOST}, found part {split.number} of {split.count}")
        return Header(self._laid_out(table), {}), split

    def _check_count(self, count: int, least_bytes: int, what: str) -> None:
        if count * least_bytes > self._size:
            raise BadHeader(f"expected a count of {what} that fits {self._size:,} bytes, it claims {count:,}", code="HEADER_TOO_LARGE")

    def _take(self, form: str) -> int:
        (value,) = struct.unpack(form, self._bytes(struct.calcsize(form)))
        return int(value) if value == value and abs(value) != float("inf") else 0

    def _string(self) -> str:
        length = self._take("<Q")
        if length > NAME_MOST_BYTES:
            raise BadHeader(f"expected a name of at most {NAME_MOST_BYTES} bytes, it claims {length:,}")
        return self._bytes(length).decode()

    def _bytes(self, length: int) -> bytes:
        self._advance(length)
        content = self._file.read(length)
        if len(content) < length:
            raise BadHeader(f"expected {length:,} bytes, the file ends after {len(content):,}")
        return content

    def _advance(self, length: int) -> None:
        if length > self._size - self._at:
            raise BadHeader(f"expected {length:,} bytes more, the file ends after {self._size - self._at:,}")
        self._at += length

    def _pass_over(self, length: int) -> None:
        self._advance(length)
        self._file.seek(length, os.SEEK_CUR)

    def _read_value(self, key: str) -> None:
        kind = self._take("<I")
        if kind in FIXED:
            value = self._take(FIXED[kind])
            if key in self._split:
                self._split[key] = value
            elif key == "general.alignment":
                self._alignment = max(1, value)
        else:
            self._skip(kind, depth=0)

    def _skip(self, kind: int, *, depth: int) -> None:
        """Pass over a text or an array, of arrays if need be."""
        if kind == STRING:
            self._bytes(self._take("<Q"))
            return
        if kind != ARRAY or depth > 4:
            raise BadHeader(f"expected a type of value that GGUF knows, found {kind}")
        inner, count = self._take("<I"), self._take("<Q")
        if inner in FIXED:
            self._pass_over(count * struct.calcsize(FIXED[inner]))
            return
        self._check_count(count, 8, "texts in an array")
        for _ in range(count):
            self._skip(inner, depth=depth + 1)

    def _read_tensor(self) -> "_Entry":
        name, dimensions = self._string(), self._take("<I")
        if dimensions > 8:
            raise BadHeader(f"{name}: expected at most 8 dimensions, found {dimensions}")
        shape = tuple(self._take("<Q") for _ in range(dimensions))
        kind = self._take("<I")
        return _Entry(name, TYPES.get(kind), kind, shape, self._take("<Q"))

    def _laid_out(self, table: list["_Entry"]) -> dict[str, Tensor]:
        """Every tensor must begin aligned and end before the next one, or the data, does."""
        data_bytes = max(0, self._size - (-(-self._at // self._alignment) * self._alignment))
        ends = dict(itertools.pairwise([*sorted({entry.offset for entry in table}), data_bytes]))
        if len({entry.name for entry in table}) < len(table) or len(ends) < len(table):
            raise BadHeader("expected every tensor once, with bytes of its own", code="OFFSETS_INVALID")
        return {entry.name: self._place(entry, ends[entry.offset], data_bytes) for entry in table}

    def _place(self, entry: "_Entry", most: int, data_bytes: int) -> Tensor:
        if entry.offset % self._alignment or entry.offset >= data_bytes:
            found = f"byte {entry.offset:,}"
            raise BadHeader(f"{entry.name}: expected to begin inside {data_bytes:,} bytes of data, found {found}", code="OFFSETS_INVALID")
        end = most if entry.kind is None else entry.offset + entry.kind.size_bytes(math.prod(entry.shape))
        if end > most:
            raise BadHeader(f"{entry.name}: expected to end before byte {most:,}, found {end:,}", code="OFFSETS_INVALID")
        return Tensor(entry.kind.name if entry.kind else f"type {entry.number}", entry.shape, entry.offset, end)


@dataclass(frozen=True)
class _Entry:
    name: str
    kind: TensorType | None
    number: int
    shape: tuple[int, ...]
    offset: int
