"""What a release needs on disk to be started, and what of it is gone."""

import os
import shutil

from modelpivot.models.release import Release


def read_missing_parts(release: Release) -> list[str]:
    """One sentence for each part that is not there; empty: it can be started. A foreign unit may serve one file."""
    engine = release.start.argv[0]
    found = [] if shutil.which(engine) else [f"the engine {engine} is not there"]
    paths = dict.fromkeys((release.view_dir, release.start.working_directory))
    found += [f"{path} is not there" for path in paths if not (path.exists() if release.origin == "adopted" else path.is_dir())]
    key = release.endpoint.api_key_file
    return found + ([f"the API key {key} cannot be read"] if key and not os.access(key, os.R_OK) else [])
