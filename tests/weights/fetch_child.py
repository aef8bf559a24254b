"""A fetch in a process of its own, for tests that kill it. It can end itself with SIGKILL at a moment that no file shows from outside.

`python -m tests.weights.fetch_child MANIFEST DIRECTORY ENDPOINT OPTIONS [EVENT PART]`: EVENT is an audit event of Python;
it kills when PART stands in its first argument (`open`: only to write).
"""

import json
import os
import signal
import sys
from pathlib import Path

from modelpivot.models.manifest import Manifest
from modelpivot.weights.fetch import FetchOptions, fetch_manifest
from modelpivot.weights.reconnect import Patience
from tests.weights.told import Told


def die_at(event: str, part: str) -> None:
    """SIGKILL to ourselves when Python is about to do `event` on a path with `part` in it."""

    def look(found: str, arguments: tuple[object, ...]) -> None:
        if found == event and part in str(arguments[0]) and (event != "open" or _is_write(arguments[2])):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def _is_write(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))


def main() -> None:
    """Fetch, and print the result as JSON."""
    manifest, directory, endpoint, options, *moment = sys.argv[1:]
    if moment:
        die_at(*moment)
    chosen = FetchOptions(patience=Patience(idle_s=20, deadline_s=100, first_s=0.02, longest_s=0.2), **json.loads(options))
    read = Manifest.model_validate_json(Path(manifest).read_text())
    result = fetch_manifest(read, Path(directory), endpoint=endpoint, tell=Told(), options=chosen)
    print(json.dumps(result.__dict__))


if __name__ == "__main__":
    main()
