"""Whether a frozen release's view stands: every link leads to its file, every small file is as fetched or as its patch record says."""

from modelpivot.files import hash_file, read_model
from modelpivot.models.release import Release
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.patched import PatchRecord, patch_record_path
from modelpivot.weights.view import is_view_right


def read_standing(state: StatePaths, name: str) -> list[Release]:
    """The releases of this name whose view stands."""
    return [release for release in list_releases(state) if release.name == name and is_view_standing(release)]


def is_view_standing(release: Release) -> bool:
    """Read anew from the files; False as well when the weights behind it are gone."""
    view = release.view_dir
    record, manifest = read_model(patch_record_path(view), PatchRecord), read_manifest(release.weights_dir)
    if record is None or manifest is None or (record.commit, manifest.commit) != (release.commit, release.commit):
        return False
    try:
        if any(hash_file(view / path) != digest for path, digest in record.after.items()):
            return False
        patched = {path: (view / path).read_bytes().decode() for path in record.after}
        return is_view_right(view, release.weights_dir, manifest, patched)
    except (OSError, UnicodeDecodeError):
        return False
