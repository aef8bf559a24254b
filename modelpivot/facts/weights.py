"""What of a manifest already lies in its directory. Reads receipts and sizes only; hashes nothing, writes nothing.

present_files=117 missing_files=2 missing_bytes=9126805504
"""

from pathlib import Path

from modelpivot.models.facts import WeightsOnDisk
from modelpivot.models.manifest import Manifest
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.receipts import unproved_files
from modelpivot.weights.space import missing_bytes


def read_weights_on_disk(directory: Path, manifest: Manifest) -> WeightsOnDisk:
    """Files that are whole by their receipts, and what is still to come. A directory that is not there: everything is missing."""
    folder = WeightsFolder(directory)
    missing = unproved_files(folder, manifest)
    return WeightsOnDisk(
        directory=directory,
        present_files=len(manifest.files) - len(missing),
        missing_bytes=missing_bytes(folder, missing),
        missing_files=len(missing),
    )
