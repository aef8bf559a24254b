"""Directories of weights below the weights root, and downloads in them that nobody goes on with.

<root>/<org>--<name>/<commit>/                                  ours, by its manifest; any other folder in the root is somebody's
                              .modelpivot/partial/*.part        of no use once every file of the manifest is proved
                              .cache/huggingface/download/      the same of the Hub library
"""

from collections.abc import Iterator
from pathlib import Path

from modelpivot.errors import UsageError
from modelpivot.facts.stored import COMMIT
from modelpivot.facts.subjects import Subject
from modelpivot.models.manifest import Manifest
from modelpivot.models.reclaim import Root
from modelpivot.models.spelled import spell, unspell
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.receipts import unproved_files


def weights_subjects(root: Root) -> Iterator[Subject]:
    """Every directory of weights, and the partials in those that are whole."""
    for path in _directories(Path(unspell(root.real))):
        manifest = _read(path)
        is_whole = manifest is not None and not unproved_files(WeightsFolder(path), manifest)
        yield _subject(root, path, manifest, is_whole=is_whole)
        if is_whole:
            yield from _partials(root, path)


def _directories(root: Path) -> Iterator[Path]:
    """Commits below `<org>--<name>/`, and every other folder of the root; never a link or a hidden one."""
    for path in sorted(root.iterdir()):
        if path.is_symlink() or not path.is_dir() or path.name.startswith("."):
            continue
        try:
            commits = [each for each in sorted(path.iterdir()) if COMMIT.fullmatch(each.name) and not each.is_symlink() and each.is_dir()]
        except OSError:
            commits = []
        yield from commits or [path]


def _read(path: Path) -> Manifest | None:
    """Its manifest; one that cannot be understood says nothing of where the files came from."""
    try:
        return read_manifest(path)
    except (UsageError, OSError, UnicodeDecodeError):
        return None


def _subject(root: Root, path: Path, manifest: Manifest | None, *, is_whole: bool) -> Subject:
    names = [str(path.relative_to(unspell(root.real)))]
    if manifest is None:
        what, costs = f"{spell(path.name)}, a folder that modelpivot did not fetch", "it for good: no manifest says where it came from"
        return Subject("weights", root, names, what=what, costs=costs, is_refetchable=False)
    return Subject(
        "weights",
        root,
        names,
        what=f"{'' if is_whole else 'half-fetched '}weights of {manifest.repo} at {manifest.commit[:12]}",
        costs="fetching them again",
        repo=manifest.repo,
        commit=manifest.commit,
        manifest=manifest,
    )


def _partials(root: Root, path: Path) -> Iterator[Subject]:
    places = (WeightsFolder(path).partials.glob("*"), (path / ".cache/huggingface/download").glob("**/*.incomplete"))
    for partial in sorted(each for place in places for each in place if each.is_file() and not each.is_symlink()):
        name = str(partial.relative_to(unspell(root.real)))
        what = f"partial download {spell(partial.name)} in weights that are whole"
        yield Subject("partials", root, [name], what=what, costs="nothing")
