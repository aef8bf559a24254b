"""The model on the Hub: revision resolved once to 40 hex, file list with sizes and digests, config.json. One deadline; only passing failures are tried again.

HubFacts(manifest=Manifest(repo='nvidia/Kimi-K2.5-NVFP4', commit='4d7e...', files=[...]), hub_problem='', config={'model_type': 'kimi_k25', ...})
"""

import json
import time
from typing import TypeVar

from pydantic import JsonValue

from modelpivot.errors import PivotError, PreconditionError, TransientError
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.recipe import Source
from modelpivot.weights.answers import REMEDIES, Refused, refusal_problem
from modelpivot.weights.index import parse_index
from modelpivot.weights.manifest import choose_files, index_name, manifest_from_hub
from modelpivot.weights.reconnect import Patience, Tries, parse_retry_after
from modelpivot.weights.transport import HubOrigin

T = TypeVar("T")
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


def read_hub(host: HostConfig, source: Source, *, deadline_s: float = DEADLINE_S) -> HubFacts:
    """Manifest and config of a model. Never raises: what could not be read is Unread with its reason and the problem's word."""
    token, tries = read_token(), Tries(Patience(idle_s=deadline_s, first_s=0.3, longest_s=2), time.monotonic() + deadline_s)
    try:
        whole = read_repository(host.hub_endpoint, source, token=token, tries=tries)
        reader = SmallFiles(host.hub_endpoint, whole, token, tries)
        manifest = choose_files(whole, source, shards=reader.shards())
    except PivotError as error:
        return _unread(error)
    try:
        return HubFacts(manifest=manifest, config=reader.config())
    except PivotError as error:
        return HubFacts(manifest=manifest, config=Unread(unread=error.message), hub_problem=_problem(error))


def read_token() -> str | None:
    """The token of this user: HF_TOKEN, or what `hf auth login` left; None: none, or none that can be had."""
    from huggingface_hub import get_token

    try:
        return get_token()
    except Exception:  # noqa: BLE001 (any failure of a login helper means: no token)
        return None


def read_repository(endpoint: str, source: Source, *, token: str | None, tries: Tries) -> Manifest:
    """All files of the repository at the commit that the revision names now. Refused or TransientError; PreconditionError for its content."""
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import ModelInfo

    api = HfApi(endpoint=endpoint, token=token or False, library_name="modelpivot")

    def ask() -> ModelInfo:
        left_s = max(0.5, tries.ends_at - time.monotonic())
        try:
            return api.model_info(source.repo, revision=source.revision, files_metadata=True, timeout=min(TIMEOUT_S, left_s))
        except Exception as error:  # noqa: BLE001 (a door: whatever the library raises becomes ours)
            raise translate(error, source, endpoint) from None

    info = tries.run(ask)
    if not info.sha or not info.siblings:
        raise PreconditionError(f"{source.repo}: the Hub names no files at {source.revision}", hint="take another revision")
    return manifest_from_hub(source.repo, info.sha, info.siblings)


def translate(error: Exception, source: Source, endpoint: str) -> PivotError:
    """The door for what the Hub's library raises: by HTTP status first, everything without one is the way to the Hub."""
    if isinstance(error, PivotError):
        return error
    what = f"{source.repo}@{source.revision}"
    response = getattr(error, "response", None)
    if response is None:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        return TransientError(f"{what}: {endpoint} does not answer: {reason}", hint=REMEDIES["unreachable"])
    said = response.headers.get("X-Error-Message") or response.headers.get("X-Error-Code") or ""
    found = f"{what}: HTTP {response.status_code} from {endpoint}" + (f" ({said})" if said else "")
    if problem := refusal_problem(response.status_code, response.headers):
        return Refused(found, problem=problem)
    return TransientError(found, hint=REMEDIES["unreachable"], retry_after_s=parse_retry_after(response.headers))


class SmallFiles:
    """Small files of the repository at its commit, read into memory."""

    def __init__(self, endpoint: str, manifest: Manifest, token: str | None, tries: Tries) -> None:
        self._files = {file.path: file for file in manifest.files}
        self._index, self._tries = index_name(manifest), tries
        self._origin = HubOrigin(endpoint, manifest, token=token, connections=1, stall_s=TIMEOUT_S)

    def shards(self) -> list[str] | None:
        """The shards that the index names; None: there is no index, or none that can be understood (verify says so)."""
        if self._index is None or self._files[self._index].size > INDEX_MOST_BYTES:
            return None
        try:
            return sorted(set(parse_index(self._read(self._files[self._index])).values()))
        except (TransientError, Refused):
            raise
        except PivotError:
            return None

    def config(self) -> dict[str, JsonValue] | Unread:
        """config.json; Unread when there is none (GGUF), or it is no JSON object."""
        if "config.json" not in self._files:
            return Unread(unread="the repository has no config.json")
        try:
            document = json.loads(self._read(self._files["config.json"]))
        except ValueError as error:
            return Unread(unread=f"config.json is no JSON: {error}")
        return document if isinstance(document, dict) else Unread(unread=f"config.json holds a {type(document).__name__}, not an object")

    def _read(self, file: ManifestFile) -> bytes:
        return self._tries.run(lambda: self._read_once(file))

    def _read_once(self, file: ManifestFile) -> bytes:
        body = self._origin.open(file, 0)
        try:
            content = b""
            while len(content) < file.size:
                chunk = body.read(file.size - len(content))
                if not chunk:
                    raise TransientError(f"{file.path}: ended at {len(content)} of {file.size} bytes", hint=REMEDIES["unreachable"])
                content += chunk
            return content
        finally:
            body.close()


def _problem(error: PivotError) -> str:
    if isinstance(error, Refused):
        return error.problem
    return "unreachable" if isinstance(error, TransientError) else ""


def _unread(error: PivotError) -> HubFacts:
    reason = Unread(unread=f"{error.message}; {error.hint}" if error.hint else error.message)
    return HubFacts(manifest=reason, hub_problem=_problem(error), config=reason)
