"""Where `fetch` and `verify` take their manifest from: a file, what stands beside the files, a copy, or the Hub."""

import os
import re
from pathlib import Path

from modelpivot.errors import UsageError
from modelpivot.files import read_model
from modelpivot.models.address import check_address
from modelpivot.models.event import Tell
from modelpivot.models.manifest import Manifest
from modelpivot.weights.layout import WeightsFolder, receipts_elsewhere
from modelpivot.weights.manifest import find_manifest
from modelpivot.weights.patched import read_record

COMMIT = re.compile(r"[0-9a-f]{40}")


def manifest_to_fetch(repo: str, revision: str | None, file: Path | None, origin: str | None, tell: Tell) -> Manifest:
    """The one given as a file; else, for no revision or a commit, the one beside the copy that files are taken from; else the Hub's."""
    _require_origin(origin)
    manifest = _given(file) if file else _beside_copy(repo, revision, origin, tell)
    if manifest is None:
        return manifest_from_hub(repo, revision or "main")
    if manifest.repo != repo or (revision or manifest.commit) not in ("main", manifest.commit):
        asked = f"{repo} at {revision or 'any commit'}"
        raise UsageError(f"{file}: expected a manifest of {asked}, found one of {manifest.repo} at {manifest.commit}")
    return manifest


def _require_origin(origin: str | None) -> None:
    """A folder that is away may come back, so it is told file by file; an address that is none never will."""
    try:
        if origin and "://" in origin:
            check_address(origin)
    except ValueError as error:
        raise UsageError(f"--from {origin}: {error}", hint="name a directory, a mount or the address of a Hub") from error


def manifest_to_verify(directory: Path, file: Path | None, repo: str | None, revision: str) -> Manifest | None:
    """The manifest to hold files against, by default the one beside them; None: there is none."""
    if file and repo:
        raise UsageError("--manifest and --repo: expected one of them, found both")
    if repo:
        return manifest_from_hub(repo, revision)
    if file:
        return _given(file)
    return read_manifest_file(WeightsFolder(directory).manifest) or _of_older_view(directory)


def _of_older_view(directory: Path) -> Manifest | None:
    """Of a release's view that was made without a manifest: the one beside the weights that its links lead to, if it is of the same commit."""
    record = read_record(directory)
    if record is None or not record.commit:
        return None
    places = sorted({path.readlink().parent for path in directory.iterdir() if path.is_symlink()})
    found = [manifest for manifest in (read_manifest_file(WeightsFolder(place).manifest) for place in places) if manifest]
    return next((manifest for manifest in found if (manifest.repo, manifest.commit) == (record.repo, record.commit)), None)


def read_manifest_file(file: Path) -> Manifest | None:
    """None when there is none; UsageError for one that cannot be read or understood."""
    try:
        return read_model(file, Manifest)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: expected a manifest, it cannot be read ({error})", hint="look at the file and at its rights") from error


def _given(file: Path) -> Manifest:
    if (manifest := read_manifest_file(file)) is None:
        raise UsageError(f"{file}: no such manifest file")
    return manifest


def manifest_from_hub(repo: str, revision: str) -> Manifest:
    """What the Hub names now. TransientError when it is out of reach; Refused with its remedy; UsageError for a name that is none."""
    from pydantic import ValidationError

    from modelpivot.facts import repository
    from modelpivot.models.source import Source
    from modelpivot.settings import read_host_config

    try:
        source = Source(repo=repo, revision=revision)
    except ValidationError as error:
        raise UsageError(f"repo: expected org/name, found {repo!r}") from error
    return repository.read_manifest(read_host_config().hub_endpoint, source, token=repository.read_token())


def require_readable(directory: Path) -> None:
    """UsageError for what is no directory, or one that may not be read."""
    if not directory.is_dir():
        raise UsageError(f"{directory}: expected a directory of weights, found {'a file' if directory.exists() else 'nothing'}")
    if not os.access(directory, os.R_OK | os.X_OK):
        raise UsageError(f"{directory}: it may not be read", hint="run it as a user who may")


def folder_of(directory: Path) -> WeightsFolder:
    """The directory, with what we keep of it in the host's state where it cannot be written to."""
    if os.access(directory, os.W_OK):
        return WeightsFolder(directory)
    from modelpivot.settings import read_host_config

    return WeightsFolder(directory, receipts_elsewhere(read_host_config().state_dir, directory))


def _beside_copy(repo: str, revision: str | None, origin: str | None, tell: Tell) -> Manifest | None:
    if not origin or "://" in origin or not (revision is None or COMMIT.fullmatch(revision)):
        return None
    manifest = find_manifest(Path(origin), repo, revision)
    if manifest is not None:
        tell("warning", f"held against the manifest beside the copy ({manifest.commit[:12]}); the Hub was not asked")
    return manifest
