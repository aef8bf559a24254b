"""The model on the Hub: revision resolved once to 40 hex, file list with sizes and digests, config.json. One deadline; only passing failures are tried again.

HubFacts(manifest=Manifest(repo='nvidia/Kimi-K2.5-NVFP4', commit='4d7e...', files=[...]), hub_problem='', config={'model_type': 'kimi_k25', ...})
"""

import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from pydantic import Field, JsonValue

from modelpivot.errors import PivotError, TransientError
from modelpivot.facts.card import parse_card
from modelpivot.facts.config_texts import CONFIG_FILES, parse_object
from modelpivot.facts.repository import DEADLINE_S, SmallFiles, read_repository
from modelpivot.facts.repository import read_token as read_token
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest
from modelpivot.models.model_parts import HubAccess, ModelCard
from modelpivot.models.source import Source
from modelpivot.weights.answers import Refused
from modelpivot.weights.manifest import choose_files

Answer = Future[bytes | None]
SMALL_FILES = (*CONFIG_FILES, "README.md")


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
    texts: dict[str, str] = Field(default_factory=dict)
    """The two of them as they stand there, as far as they hold a JSON object."""
    card: ModelCard | Unread = Unread(unread="not asked")
    access: HubAccess = HubAccess()
    left_out: list[str] = Field(default_factory=list)
    """Files of the repository that an engine does not need, or the recipe does not want."""


def read_hub(host: HostConfig, source: Source, *, deadline_s: float = DEADLINE_S) -> HubFacts:
    """Manifest, config, card and access of a model. Never raises: what could not be read is Unread with its reason and the problem's word."""
    token, ends_at = read_token(), time.monotonic() + deadline_s
    try:
        whole, listing = read_repository(host.hub_endpoint, source, token=token, ends_at=ends_at)
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
        texts=_texts(asked),
        card=_card(asked["README.md"]),
        left_out=sorted({file.path for file in whole.files} - {file.path for file in manifest.files}),
        access=HubAccess(is_gated=listing.is_gated, is_private=listing.is_private, has_token=token is not None),
    )


def _config(asked: Answer) -> tuple[dict[str, JsonValue] | Unread, str]:
    """config.json, and the problem's word when the Hub refused it; Unread when there is none (GGUF), or it is no JSON object."""
    try:
        content = asked.result()
    except PivotError as error:
        return Unread(unread=error.message), _problem(error)
    return Unread(unread="the repository has no config.json") if content is None else parse_bytes("config.json", content), ""


def _aside(asked: Answer, name: str) -> dict[str, JsonValue] | Unread | None:
    try:
        content = asked.result()
    except PivotError as error:
        return Unread(unread=error.message)
    return None if content is None else parse_bytes(name, content)


def _card(asked: Answer) -> ModelCard | Unread:
    try:
        content = asked.result()
    except PivotError as error:
        return Unread(unread=error.message)
    return ModelCard() if content is None else parse_card(content.decode(errors="replace"))


def parse_bytes(name: str, content: bytes) -> dict[str, JsonValue] | Unread:
    """A JSON object in UTF-8, or why it is none."""
    try:
        return parse_object(name, content.decode())
    except UnicodeDecodeError as error:
        return Unread(unread=f"{name} is no JSON: {error}")


def _texts(asked: Mapping[str, Answer]) -> dict[str, str]:
    """The texts of what holds a JSON object."""
    known = {name: asked[name].result() for name in CONFIG_FILES if asked[name].exception() is None}
    return {name: content.decode() for name, content in known.items() if content and not isinstance(parse_bytes(name, content), Unread)}


def _problem(error: PivotError) -> str:
    if isinstance(error, Refused):
        return error.problem
    return "unreachable" if isinstance(error, TransientError) else ""


def _unread(error: PivotError) -> HubFacts:
    reason = Unread(unread=f"{error.message}; {error.hint}" if error.hint else error.message)
    return HubFacts(manifest=reason, hub_problem=_problem(error), config=reason)
