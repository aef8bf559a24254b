"""The model on the Hub and on disk. When the Hub does not answer, a pinned commit is known by the manifest beside its files."""

import re
from pathlib import Path

from pydantic import JsonValue

from modelpivot.facts.config_texts import CONFIG_FILES
from modelpivot.facts.hub import HubFacts, parse_bytes, read_hub, read_token
from modelpivot.facts.model_config import parse_model_config
from modelpivot.facts.tensors import read_model_weights
from modelpivot.facts.weights import read_weights_on_disk
from modelpivot.models.facts import ModelFacts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest, weights_directory
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.model_parts import ModelWeights
from modelpivot.models.recipe import Source
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.patched import fetched_file, read_record

COMMIT = re.compile(r"[0-9a-f]{40}")


def read_model_facts(host: HostConfig, source: Source) -> ModelFacts:
    """Commit, files, config, card and exact bytes of the model, and what of it lies in its directory by receipts; hashes nothing."""
    hub = read_hub(host, source)
    manifest = hub.manifest
    if isinstance(manifest, Unread) and (kept := read_kept_manifest(host, source)):
        manifest = kept
    if isinstance(manifest, Unread):
        return ModelFacts(
            manifest=manifest, hub_problem=hub.hub_problem, config=hub.config, on_disk=manifest, summary=manifest, weights=manifest
        )
    return _known(host, hub, manifest)


def _known(host: HostConfig, hub: HubFacts, manifest: Manifest) -> ModelFacts:
    directory = weights_directory(host.weights_root, manifest.repo, manifest.commit)
    config = read_kept(directory, "config.json") if isinstance(hub.config, Unread) else hub.config
    aside = _quantization_file(hub, directory, manifest)
    summary = config if isinstance(config, Unread) else parse_model_config(config, aside if isinstance(aside, dict) else None)
    return ModelFacts(
        manifest=manifest,
        hub_problem=hub.hub_problem,
        config=config,
        on_disk=read_weights_on_disk(directory, manifest),
        summary=summary,
        quantization_file=aside,
        texts=hub.texts or _kept_texts(directory),
        weights=_weights(host, manifest, directory, summary, is_hub_there=not hub.hub_problem),
        card=hub.card,
        access=hub.access,
        left_out=hub.left_out,
    )


def read_kept_manifest(host: HostConfig, source: Source) -> Manifest | None:
    """The manifest beside the files of a pinned commit; None for a branch or tag, which only the Hub can resolve."""
    if not COMMIT.fullmatch(source.revision):
        return None
    return read_manifest(weights_directory(host.weights_root, source.repo, source.revision))


def read_kept(directory: Path, name: str) -> dict[str, JsonValue] | Unread:
    """A JSON file as it was fetched."""
    path = fetched_file(directory, name, read_record(directory))
    try:
        return parse_bytes(str(path), path.read_bytes())
    except OSError as error:
        return Unread(unread=f"{path}: {error.strerror or error}")


def _kept_texts(directory: Path) -> dict[str, str]:
    """The config files as they were fetched, those that hold a JSON object."""
    record = read_record(directory)
    paths = {name: fetched_file(directory, name, record) for name in CONFIG_FILES if not isinstance(read_kept(directory, name), Unread)}
    return {name: path.read_bytes().decode() for name, path in paths.items()}


def _quantization_file(hub: HubFacts, directory: Path, manifest: Manifest) -> dict[str, JsonValue] | Unread | None:
    """As the Hub has it, or as it was fetched while the Hub is away; None: the repository has none, or the recipe leaves it out."""
    name = "hf_quant_config.json"
    if name not in {file.path for file in manifest.files}:
        return None
    if hub.quantization_file is not None or not hub.hub_problem:
        return hub.quantization_file
    return read_kept(directory, name)


def _weights(
    host: HostConfig, manifest: Manifest, directory: Path, summary: ModelConfig | Unread, *, is_hub_there: bool
) -> ModelWeights | Unread:
    layers = None if isinstance(summary, Unread) or not summary.next_token_layers else summary.layers
    endpoint, token = host.hub_endpoint, read_token() if is_hub_there else None
    return read_model_weights(endpoint, manifest, directory, token=token, layers=layers, deadline_s=20.0 if is_hub_there else 1.0)
