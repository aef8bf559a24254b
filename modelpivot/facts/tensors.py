"""Exact bytes of a model's tensors by role and type, from the headers of its files: on disk where they lie there, else by Range from the Hub.

119 shards of 540 GB are known from 119 headers of about 300 kB. Nothing is stored.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from modelpivot.errors import PivotError
from modelpivot.facts.tensor_roles import role_of
from modelpivot.models.frozen import Unread
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.model_parts import ModelWeights, TensorGroup
from modelpivot.weights.headers import HEADER_MOST_BYTES, BadHeader, Header, parse_header, read_header
from modelpivot.weights.layout import is_weights
from modelpivot.weights.reconnect import Patience, Tries
from modelpivot.weights.transport import HubOrigin

FIRST_BYTES = 256 << 10
"""Read at once: most headers end within it, so that one question is enough."""
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

    def read(self, file: ManifestFile) -> Header:
        """BadHeader for what is no header; the transport's errors when passing failures do not pass in time."""
        first = self._part(file, 0, min(FIRST_BYTES, file.size))
        length = int.from_bytes(first[:8], "little")
        if len(first) < 8 or length > HEADER_MOST_BYTES or length + 8 > file.size:
            raise BadHeader(f"{file.path}: expected a header inside {file.size:,} bytes, it claims {length:,}")
        text = first[8 : 8 + length]
        if len(text) < length:
            text += self._part(file, len(first), 8 + length)
        return parse_header(text, file.size - 8 - length)

    def _part(self, file: ManifestFile, start: int, stop: int) -> bytes:
        tries = Tries(Patience(idle_s=STALL_S, first_s=0.3, longest_s=2), self._ends_at)
        content = tries.run(lambda: self._origin.read_part(file, start, stop))
        self.read_bytes += len(content)
        return content


def _sum_file(file: ManifestFile, directory: Path, read_remote: Callable[[ManifestFile], Header], layers: int | None) -> Sums:
    path = directory / file.path
    return _sum_tensors(read_header(path) if _is_there(path, file) else read_remote(file), layers)


def _is_there(path: Path, file: ManifestFile) -> bool:
    try:
        return path.stat().st_size == file.size
    except OSError:
        return False


def _sum_tensors(header: Header, layers: int | None) -> Sums:
    sums: Sums = defaultdict(lambda: [0, 0])
    for name, tensor in header.tensors.items():
        entry = sums[role_of(name, tensor.shape, layers), tensor.dtype]
        entry[0] += 1
        entry[1] += tensor.end - tensor.begin
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
