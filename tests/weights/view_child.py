"""What runs inside a mount namespace for the tests of the view: one made and held to be right, twice. Prints JSON."""

import json
import os
import sys
from pathlib import Path

from modelpivot.files import hash_file
from modelpivot.models.manifest import Manifest
from modelpivot.weights.verify import verify_directory
from modelpivot.weights.view import is_view_right, make_view
from tests.weights.told import Told

PATCHED = {"config.json": '{"patched": true}'}


def look(manifest: Manifest, weights: Path, view: Path) -> dict[str, object]:
    """Devices on both sides, whether it stands and stays, what verify says, and the digests of what was fetched before and after."""
    before = {file.path: hash_file(weights / file.path) for file in manifest.files}
    make_view(view, weights, manifest, PATCHED)
    inode = view.stat().st_ino
    make_view(view, weights, manifest, PATCHED)
    verdict = verify_directory(view, manifest, tell=Told()).verdict
    return {
        "is_other_device": view.stat().st_dev != weights.stat().st_dev,
        "is_writable": os.access(weights, os.W_OK),
        "is_right": is_view_right(view, weights, manifest, PATCHED) and view.stat().st_ino == inode,
        "verdict": verdict.verdict,
        "codes": [problem.code for problem in verdict.problems],
        "is_as_fetched": before == {file.path: hash_file(weights / file.path) for file in manifest.files},
    }


if __name__ == "__main__":
    manifest_file, weights, view = map(Path, sys.argv[1:])
    print(json.dumps(look(Manifest.model_validate_json(manifest_file.read_text()), weights, view)))
