"""The model on the Hub and on disk. When the Hub does not answer, a pinned commit is known by the manifest beside its files."""

import json
import re

from pydantic import JsonValue, TypeAdapter, ValidationError

from modelpivot.facts.hub import read_hub
from modelpivot.facts.model_config import parse_model_config
from modelpivot.facts.weights import read_weights_on_disk
from modelpivot.models.facts import ModelFacts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest, weights_directory
from modelpivot.models.recipe import Source
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import read_manifest

COMMIT = re.compile(r"[0-9a-f]{40}")
CONFIG = TypeAdapter(dict[str, JsonValue])


def read_model_facts(host: HostConfig, source: Source) -> ModelFacts:
    """Commit, files and config of the model, and what of it lies in its directory by receipts; hashes nothing."""
    hub = read_hub(host, source)
    manifest = hub.manifest
    if isinstance(manifest, Unread) and (kept := read_kept_manifest(host, source)):
        manifest = kept
    if isinstance(manifest, Unread):
        return ModelFacts(manifest=manifest, hub_problem=hub.hub_problem, config=hub.config, on_disk=manifest, summary=manifest)
    directory = weights_directory(host.weights_root, manifest.repo, manifest.commit)
    config = read_kept_config(WeightsFolder(directory)) if isinstance(hub.config, Unread) else hub.config
    return ModelFacts(
        manifest=manifest,
        hub_problem=hub.hub_problem,
        config=config,
        on_disk=read_weights_on_disk(directory, manifest),
        summary=config if isinstance(config, Unread) else parse_model_config(config),
    )


def read_kept_manifest(host: HostConfig, source: Source) -> Manifest | None:
    """The manifest beside the files of a pinned commit; None for a branch or tag, which only the Hub can resolve."""
    if not COMMIT.fullmatch(source.revision):
        return None
    return read_manifest(weights_directory(host.weights_root, source.repo, source.revision))


def read_kept_config(folder: WeightsFolder) -> dict[str, JsonValue] | Unread:
    """config.json as it was fetched."""
    path = folder.file("config.json")
    try:
        return CONFIG.validate_python(json.loads(path.read_bytes()))
    except (OSError, ValueError, ValidationError) as error:
        return Unread(unread=f"{path}: {error}")
