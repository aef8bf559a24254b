"""A repository on the Hub: its files at the commit that a revision names now, small ones read into memory, and the token to ask with.

One deadline; only passing failures are tried again. Imported by `modelpivot fetch` before its first byte, so it stays light.
"""

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

from modelpivot.errors import PivotError, PreconditionError, TransientError, UsageError
from modelpivot.models.manifest import Manifest
from modelpivot.models.source import Source
from modelpivot.weights.answers import Refused
from modelpivot.weights.index import parse_index
from modelpivot.weights.listing import Listing, read_listing
from modelpivot.weights.manifest import choose_files, index_name, manifest_from_hub
from modelpivot.weights.reconnect import Patience, Tries
from modelpivot.weights.transport import HubOrigin

SPLIT = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")
CONNECTIONS = 4
DEADLINE_S = 5.0
TIMEOUT_S = 5.0
INDEX_MOST_BYTES = 512 << 20


def read_token() -> str | None:
    """The token of this user: HF_TOKEN, or what `hf auth login` left; None: none, or none that can be had. UsageError for one that no request can carry.

    The library is asked only where there is a login for it to read: importing that part of it costs 0.2 CPU-seconds.
    """
    from huggingface_hub import constants

    is_exchanged, given = (
        os.environ.get("HF_OIDC_RESOURCE"),
        (os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN") or "").strip(),
    )
    if not is_exchanged and (given or not Path(constants.HF_TOKEN_PATH).exists()):
        return _require_plain(given or None)
    from huggingface_hub import get_token

    try:
        token = get_token()
    except Exception:  # noqa: BLE001 (any failure of a login helper means: no token)
        return None
    return _require_plain(token)


def _require_plain(token: str | None) -> str | None:
    """UsageError for what no request can carry; what it is stays untold."""
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        hint = "set HF_TOKEN anew, or log in anew (hf auth login)"
        raise UsageError("the Hub's token: expected letters, digits and marks on one line, found other characters", hint=hint)
    return token


def read_manifest(endpoint: str, source: Source, *, token: str | None, deadline_s: float = DEADLINE_S) -> Manifest:
    """The files that an engine needs, and nothing else of the model. TransientError, Refused, PreconditionError or IntegrityError."""
    ends_at = time.monotonic() + deadline_s
    whole, _ = read_repository(endpoint, source, token=token, ends_at=ends_at)
    return choose_files(whole, source, shards=SmallFiles(endpoint, whole, token, ends_at).shards())


def read_repository(endpoint: str, source: Source, *, token: str | None, ends_at: float) -> tuple[Manifest, Listing]:
    """All files of the repository at the commit that the revision names now, with what else the Hub says of it.

    Refused or TransientError; PreconditionError for its content.
    """

    def ask() -> Listing:
        left_s = max(0.5, ends_at - time.monotonic())
        return read_listing(endpoint, source.repo, source.revision, token=token, timeout_s=min(TIMEOUT_S, left_s))

    listing = _tries(ends_at).run(ask)
    if not listing.files:
        raise PreconditionError(f"{source.repo}: the Hub names no files at {source.revision}", hint="take another revision")
    return manifest_from_hub(source.repo, listing), listing


class SmallFiles:
    """Small files of the repository at its commit, read into memory."""

    def __init__(self, endpoint: str, manifest: Manifest, token: str | None, ends_at: float) -> None:
        self._files = {file.path: file for file in manifest.files}
        self._manifest, self._ends_at = manifest, ends_at
        self._origin = HubOrigin(endpoint, manifest, token=token, connections=CONNECTIONS, stall_s=TIMEOUT_S)

    def shards(self) -> list[str] | None:
        """The shards that the index names; None: there is no index, none that can be understood (verify says so), or no need to ask it."""
        index = index_name(self._manifest)
        if index is None or self._files[index].size > INDEX_MOST_BYTES or is_one_split(self._files):
            return None
        try:
            return sorted(set(parse_index(self.read(index) or b"").values()))
        except (TransientError, Refused):
            raise
        except PivotError:
            return None

    def read(self, name: str) -> bytes | None:
        """A file's content; None: the repository has no such file. The transport's errors when it cannot be had in time."""
        file = self._files.get(name)
        if file is None or not file.size:
            return None if file is None else b""
        return _tries(self._ends_at).run(lambda: self._origin.read_part(file, 0, file.size))


def is_one_split(names: Iterable[str]) -> bool:
    """Whether the safetensors files in the root are one whole numbered set: the index (30 MB for 300,000 tensors) has nothing to add then."""
    weights = [name for name in names if name.endswith(".safetensors") and "/" not in name]
    found = [match for name in weights if (match := SPLIT.fullmatch(name))]
    stems = {(match[1], int(match[3])) for match in found}
    numbers = {int(match[2]) for match in found}
    return len(found) == len(weights) and len(stems) == 1 and numbers == set(range(1, next(iter(stems))[1] + 1))


def _tries(ends_at: float) -> Tries:
    return Tries(Patience(idle_s=max(1.0, ends_at - time.monotonic()), first_s=0.3, longest_s=2), ends_at)
