"""The manifest: made from the Hub's answer, kept beside the files, and which files of a repository an engine needs."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from modelpivot.errors import PreconditionError
from modelpivot.files import read_model, write_model
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.weights.layout import WeightsFolder, is_safe_name, is_weights, require_safe

if TYPE_CHECKING:
    from modelpivot.models.source import Source
    from modelpivot.weights.listing import Listed, Listing

NOT_NEEDED_SUFFIXES = (
    ".md",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".svg",
    ".webp",
    ".pdf",
    ".mp4",
    ".mp3",
    ".wav",
    ".ipynb",
    ".html",
    ".zip",
    ".gz",
    ".tar",
)
NOT_NEEDED_NAMES = re.compile(
    r"\..*|license.*|notice.*|trainer_state\.json|training_args\.bin|optimizer\..*|scheduler\.pt|rng_state.*|events\.out.*", re.I
)
SUBFOLDER_SUFFIXES = (".py", ".json", ".jinja", ".txt", ".model", ".tiktoken")
FORMATS = ((".safetensors",), (".gguf",), (".bin", ".pt", ".pth"))
SPLIT_GGUF = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
INDEX = ".safetensors.index.json"


def manifest_from_hub(repo: str, listing: "Listing") -> Manifest:
    """The whole repository at one commit. PreconditionError for a file of unknown size, IntegrityError for names that escape."""
    manifest = Manifest(repo=repo, commit=listing.commit, files=[_file_from_hub(repo, each) for each in listing.files])
    require_safe(manifest)
    return manifest


def _file_from_hub(repo: str, file: "Listed") -> ManifestFile:
    if file.size is None:
        raise PreconditionError(
            f"{repo}: {file.path!r}: the Hub names no size, so the space it needs is not known",
            hint="ask again later, or leave the file out with model.exclude",
        )
    return ManifestFile(path=file.path, size=file.size, sha256=file.sha256, git_oid=None if file.sha256 else file.blob_id)


def choose_files(manifest: Manifest, source: "Source", *, shards: Sequence[str] | None = None) -> Manifest:
    """What of a repository an engine needs: one set of weights from the root, and all small files that go with it.

    `shards` are the files that the index names; None: there is no index. A recipe's `include` replaces the choice, its `exclude` takes away.
    PreconditionError when several sets of GGUF weights leave no choice to us.
    """
    asked = {file.path for file in manifest.files if _fits(file.path, source.include)}
    kept = asked if source.include else _needed(manifest, source.exclude, shards)
    files = [file for file in manifest.files if file.path in kept and not _fits(file.path, source.exclude)]
    return manifest.model_copy(update={"files": sorted(files, key=lambda file: file.path)})


def index_name(manifest: Manifest) -> str | None:
    """The index of the safetensors shards in the root; None: there is none."""
    names = sorted(file.path for file in manifest.files if file.path.endswith(INDEX) and "/" not in file.path)
    return "model" + INDEX if "model" + INDEX in names else (names[0] if names else None)


def read_manifest(directory: Path) -> Manifest | None:
    """The manifest beside the files; None: there is none."""
    return read_model(WeightsFolder(directory).manifest, Manifest)


def write_manifest(folder: WeightsFolder, manifest: Manifest) -> None:
    """Put it beside the files; nothing to do when it stands there alike."""
    if read_model(folder.manifest, Manifest) != manifest:
        write_model(folder.manifest, manifest)


def find_manifest(directory: Path, repo: str, commit: str | None) -> Manifest | None:
    """The manifest of a repository that stands beside a copy of its files, or below a weights root; None: none, or not the only one.

    `commit`: 40 hex that it must be of; None: any.
    """
    places = [directory, *sorted((directory / repo.replace("/", "--")).glob("*/"))]
    found = [manifest for manifest in map(read_manifest, places) if manifest is not None and manifest.repo == repo]
    fitting = [manifest for manifest in found if commit in (None, manifest.commit)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(path: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(path, each) for each in globs)


def _needed(manifest: Manifest, exclude: Sequence[str], shards: Sequence[str] | None) -> set[str]:
    names = [file.path for file in manifest.files if not _fits(file.path, exclude)]
    weights = set(_weights_of_root(manifest, names, shards))
    is_safetensors = any(name.endswith(".safetensors") for name in weights)
    heavy = {PurePosixPath(name).parts[0] for name in names if "/" in name and is_weights(name)}
    small = {name for name in names if _is_small_needed(name, heavy)}
    if is_safetensors:
        small -= {name for name in small if name.endswith(".index.json") and name != index_name(manifest)}
    return weights | small


def _weights_of_root(manifest: Manifest, names: Sequence[str], shards: Sequence[str] | None) -> list[str]:
    in_root = [name for name in names if "/" not in name and is_weights(name)]
    if shards is not None and (named := [name for name in names if name in set(shards)]):
        return named
    for suffixes in FORMATS:
        if found := [name for name in in_root if name.endswith(suffixes)]:
            return _one_gguf(manifest, found) if suffixes == (".gguf",) else _one_set(found)
    return []


def _one_set(names: list[str]) -> list[str]:
    """`model*` alone where it is there: `consolidated.safetensors` and adapters beside it are the same weights again."""
    return [name for name in names if name.startswith(("model", "pytorch_model"))] or names


def _one_gguf(manifest: Manifest, names: list[str]) -> list[str]:
    sets = {SPLIT_GGUF.sub("", name).removesuffix(".gguf") for name in names if not name.startswith("mmproj")}
    if len(sets) > 1:
        raise PreconditionError(
            f"{manifest.repo} holds {len(sets)} sets of GGUF weights ({', '.join(sorted(sets)[:6])})",
            hint="name one in the recipe with model.include",
        )
    return names


def _is_small_needed(name: str, heavy_folders: set[str]) -> bool:
    path = PurePosixPath(name)
    if is_weights(name) or not is_safe_name(name) or name.lower().endswith(NOT_NEEDED_SUFFIXES) or NOT_NEEDED_NAMES.fullmatch(path.name):
        return False
    if len(path.parts) == 1:
        return True
    return path.parts[0] not in heavy_folders and not path.parts[0].startswith(".") and name.endswith(SUBFOLDER_SUFFIXES)
