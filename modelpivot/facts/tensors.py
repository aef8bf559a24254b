"""Exact bytes of a model's tensors by role and type, from the headers of its files: on disk where they lie there, else by Range from the Hub.

119 shards of 540 GB are known from 119 headers of about 300 kB. Nothing is stored.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic_core import from_json

from modelpivot.errors import PivotError
from modelpivot.facts.tensor_roles import role_of
from modelpivot.models.frozen import Unread
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.model_parts import ModelWeights, TensorGroup
from modelpivot.weights.headers import HEADER_MOST_BYTES, BadHeader
from modelpivot.weights.layout import is_weights
from modelpivot.weights.reconnect import Patience, Tries
from modelpivot.weights.transport import HubOrigin

MOST_BYTES = 2**60

FIRST_BYTES = 256 << 10
"""Read at once: most headers end within it, so that one question is enough. The shards of one model have headers of about one length."""
FIRST_MOST_BYTES = 4 << 20
ROUND_BYTES = 64 << 10
CONNECTIONS = 16
DEADLINE_S = 20.0
STALL_S = 8.0


def read_model_weights(
    endpoint: str, manifest: Manifest, directory: Path, *, token: str | None, layers: int | None, deadline_s: float = DEADLINE_S
) -> ModelWeights | Unread:
    """Every tensor of the manifest's weights, summed by role and type. Unread with the reason when one header cannot be had."""
    files = [file for file in manifest.files if is_weights(file.path)]
    if not files:
        return Unread(unread="the repository has no weights that can be looked into")
    if any(not file.path.endswith(".safetensors") for file in files):
        return ModelWeights(groups=_whole_files(files), files=len(files), read_bytes=0)
    origin = HubOrigin(endpoint, manifest, token=token, connections=CONNECTIONS, stall_s=STALL_S)
    remote = RemoteHeaders(origin, time.monotonic() + deadline_s)
    try:
        with ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="header") as threads:
            found = list(threads.map(lambda file: _sum_file(file, directory, remote.read, layers), files))
    except BadHeader as error:
        return Unread(unread=f"headers of {manifest.repo}: {error.message}")
    except (PivotError, OSError) as error:
        return Unread(unread=f"headers of {manifest.repo}: {error}")
    return ModelWeights(groups=_join(found), files=len(files), read_bytes=remote.read_bytes)


Sums = dict[tuple[str, str], list[int]]


class RemoteHeaders:
    """Headers of files on the Hub, each by one or two ranged questions; `read_bytes` counts what came."""

    def __init__(self, origin: HubOrigin, ends_at: float) -> None:
        self._origin, self._ends_at = origin, ends_at
        self.read_bytes = 0
        self._first_bytes = FIRST_BYTES

    def read(self, file: ManifestFile) -> bytes:
        """The header's JSON. BadHeader for what is no header; the transport's errors when passing failures do not pass in time."""
        first = self._part(file, 0, min(self._first_bytes, file.size))
        length = _header_length(first, file)
        usual = (8 + length) // ROUND_BYTES * ROUND_BYTES + ROUND_BYTES
        self._first_bytes = max(self._first_bytes, min(usual, FIRST_MOST_BYTES))
        text = first[8 : 8 + length]
        return text + self._part(file, len(first), 8 + length) if len(text) < length else text

    def _part(self, file: ManifestFile, start: int, stop: int) -> bytes:
        tries = Tries(Patience(idle_s=STALL_S, first_s=0.3, longest_s=2), self._ends_at)
        content = tries.run(lambda: self._origin.read_part(file, start, stop))
        self.read_bytes += len(content)
        return content


def _sum_file(file: ManifestFile, directory: Path, read_remote: Callable[[ManifestFile], bytes], layers: int | None) -> Sums:
    path = directory / file.path
    return sum_header(_read_local(path, file) if _is_there(path, file) else read_remote(file), layers)


def _read_local(path: Path, file: ManifestFile) -> bytes:
    with path.open("rb") as opened:
        return opened.read(_header_length(opened.read(8), file))


def _header_length(first: bytes, file: ManifestFile) -> int:
    length = int.from_bytes(first[:8], "little")
    if len(first) < 8 or length > HEADER_MOST_BYTES or length + 8 > file.size:
        raise BadHeader(f"{file.path}: expected a header inside {file.size:,} bytes, it claims {length:,}")
    return length


def _is_there(path: Path, file: ManifestFile) -> bool:
    try:
        return path.stat().st_size == file.size
    except OSError:
        return False


def sum_header(text: bytes, layers: int | None) -> Sums:
    """Count and bytes by role and type. BadHeader when it is no header; whether its offsets fit the file is `verify`'s to say.

    Some models have 300,000 tensors, so no object is made of each.
    """
    sums: Sums = defaultdict(lambda: [0, 0])
    try:
        for name, entry in from_json(text).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                total = sums[role_of(name, len(entry["shape"]), layers), entry["dtype"]]
                total[0] += 1
                total[1] += end - begin
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadHeader(f"expected tensors with dtype, shape and data_offsets, found {str(error)[:120]}") from error
    if odd := [
        key for key, (_, size) in sums.items() if not isinstance(key[1], str) or type(size) is not int or not 0 <= size < MOST_BYTES
    ]:
        raise BadHeader(f"expected a word as dtype and whole numbers as data_offsets, found {str(odd)[:120]}")
    return sums


def _whole_files(files: Sequence[ManifestFile]) -> list[TensorGroup]:
    """Formats whose tensors an engine divides like the others and whose headers say no more (`.gguf`, `.bin`): their files' sizes."""
    return [TensorGroup(role="whole", dtype="", tensors=len(files), size_bytes=sum(file.size for file in files))]


def _join(found: Iterable[Sums]) -> list[TensorGroup]:
    total: Sums = defaultdict(lambda: [0, 0])
    for sums in found:
        for key, (count, size) in sums.items():
            total[key][0] += count
            total[key][1] += size
    return [TensorGroup(role=role, dtype=dtype, tensors=count, size_bytes=size) for (role, dtype), (count, size) in sorted(total.items())]
