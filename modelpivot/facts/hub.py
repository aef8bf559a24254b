"""The model on the Hub: revision resolved once to 40 hex, file list with sizes and digests, config.json. One deadline; only passing failures are tried again.

HubFacts(manifest=Manifest(repo='nvidia/Kimi-K2.5-NVFP4', commit='4d7e...', files=[...]), hub_problem='', config={'model_type': 'kimi_k25', ...})
"""

import json
import os
import re
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from pydantic import JsonValue

from modelpivot.errors import PivotError, PreconditionError, TransientError
from modelpivot.facts.card import parse_card
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest
from modelpivot.models.model_parts import HubAccess, ModelCard
from modelpivot.models.recipe import Source
from modelpivot.weights.answers import Refused
from modelpivot.weights.index import parse_index
from modelpivot.weights.listing import Listing, read_listing
from modelpivot.weights.manifest import choose_files, index_name, manifest_from_hub
from modelpivot.weights.reconnect import Patience, Tries
from modelpivot.weights.transport import HubOrigin

Answer = Future[bytes | None]
SMALL_FILES = ("config.json", "hf_quant_config.json", "README.md")
SPLIT = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")
DEADLINE_S = 5.0
TIMEOUT_S = 5.0
INDEX_MOST_BYTES = 512 << 20


class HubFacts(Frozen):
    """What the Hub says of a model, or why it says nothing."""

    manifest: Manifest | Unread
    """The files that the engine needs."""
    hub_problem: str = ""
    """unreachable, unauthorized, gated, not_found, revision_gone; empty: none, or one of the repository's content."""
    config: dict[str, JsonValue] | Unread
    """config.json at the same commit."""
    quantization_file: dict[str, JsonValue] | Unread | None = None
    """hf_quant_config.json; None: there is none."""
    card: ModelCard | Unread = Unread(unread="not asked")
    access: HubAccess = HubAccess()


def read_hub(host: HostConfig, source: Source, *, deadline_s: float = DEADLINE_S) -> HubFacts:
    """Manifest, config, card and access of a model. Never raises: what could not be read is Unread with its reason and the problem's word."""
    token, ends_at = read_token(), time.monotonic() + deadline_s
    try:
        whole, access = read_repository(host.hub_endpoint, source, token=token, tries=_tries(ends_at))
        reader = SmallFiles(host.hub_endpoint, whole, token, ends_at)
        with ThreadPoolExecutor(len(SMALL_FILES), thread_name_prefix="hub") as threads:
            asked = {name: threads.submit(reader.read, name) for name in SMALL_FILES}
            manifest = choose_files(whole, source, shards=reader.shards())
    except PivotError as error:
        return _unread(error)
    config, problem = _config(asked["config.json"])
    return HubFacts(
        manifest=manifest,
        hub_problem=problem,
        config=config,
        quantization_file=_aside(asked["hf_quant_config.json"], "hf_quant_config.json"),
        card=_card(asked["README.md"]),
        access=access,
    )


def _config(asked: Answer) -> tuple[dict[str, JsonValue] | Unread, str]:
    """config.json, and the problem's word when the Hub refused it; Unread when there is none (GGUF), or it is no JSON object."""
    try:
        content = asked.result()
    except PivotError as error:
        return Unread(unread=error.message), _problem(error)
    return Unread(unread="the repository has no config.json") if content is None else parse_object("config.json", content), ""


def _aside(asked: Answer, name: str) -> dict[str, JsonValue] | Unread | None:
    try:
        content = asked.result()
    except PivotError as error:
        return Unread(unread=error.message)
    return None if content is None else parse_object(name, content)


def _card(asked: Answer) -> ModelCard | Unread:
    try:
        content = asked.result()
    except PivotError as error:
        return Unread(unread=error.message)
    return ModelCard() if content is None else parse_card(content.decode(errors="replace"))


def parse_object(name: str, content: bytes) -> dict[str, JsonValue] | Unread:
    """A JSON object, or why it is none."""
    try:
        document = json.loads(content)
    except ValueError as error:
        return Unread(unread=f"{name} is no JSON: {error}")
    return document if isinstance(document, dict) else Unread(unread=f"{name} holds a {type(document).__name__}, not an object")


def read_token() -> str | None:
    """The token of this user: HF_TOKEN, or what `hf auth login` left; None: none, or none that can be had.

    The library is asked only where there is a login for it to read: importing that part of it costs 0.2 CPU-seconds.
    """
    from huggingface_hub import constants

    is_exchanged, given = (
        os.environ.get("HF_OIDC_RESOURCE"),
        (os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN") or "").strip(),
    )
    if not is_exchanged and (given or not Path(constants.HF_TOKEN_PATH).exists()):
        return given or None
    from huggingface_hub import get_token

    try:
        return get_token()
    except Exception:  # noqa: BLE001 (any failure of a login helper means: no token)
        return None


def read_manifest(host: HostConfig, source: Source, *, token: str | None, deadline_s: float = DEADLINE_S) -> Manifest:
    """The files that an engine needs, and nothing else of the model. TransientError, Refused, PreconditionError or IntegrityError."""
    ends_at = time.monotonic() + deadline_s
    whole, _ = read_repository(host.hub_endpoint, source, token=token, tries=_tries(ends_at))
    return choose_files(whole, source, shards=SmallFiles(host.hub_endpoint, whole, token, ends_at).shards())


def read_repository(endpoint: str, source: Source, *, token: str | None, tries: Tries) -> tuple[Manifest, HubAccess]:
    """All files of the repository at the commit that the revision names now, and who may read them.

    Refused or TransientError; PreconditionError for its content.
    """

    def ask() -> Listing:
        left_s = max(0.5, tries.ends_at - time.monotonic())
        return read_listing(endpoint, source.repo, source.revision, token=token, timeout_s=min(TIMEOUT_S, left_s))

    listing = tries.run(ask)
    if not listing.files:
        raise PreconditionError(f"{source.repo}: the Hub names no files at {source.revision}", hint="take another revision")
    access = HubAccess(is_gated=listing.is_gated, is_private=listing.is_private, has_token=token is not None)
    return manifest_from_hub(source.repo, listing), access


class SmallFiles:
    """Small files of the repository at its commit, read into memory."""

    def __init__(self, endpoint: str, manifest: Manifest, token: str | None, ends_at: float) -> None:
        self._files = {file.path: file for file in manifest.files}
        self._manifest, self._ends_at = manifest, ends_at
        self._origin = HubOrigin(endpoint, manifest, token=token, connections=len(SMALL_FILES) + 1, stall_s=TIMEOUT_S)

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


def _problem(error: PivotError) -> str:
    if isinstance(error, Refused):
        return error.problem
    return "unreachable" if isinstance(error, TransientError) else ""


def _unread(error: PivotError) -> HubFacts:
    reason = Unread(unread=f"{error.message}; {error.hint}" if error.hint else error.message)
    return HubFacts(manifest=reason, hub_problem=_problem(error), config=reason)
