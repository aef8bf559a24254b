"""Some bytes of the state's disk, kept while there is room, so that room can be made when there is none: a reclaim writes a journal and records too.

<state>/spare
"""

import contextlib
import os

from modelpivot.files import write_atomic
from modelpivot.state.paths import StatePaths

SPARE_BYTES = 1_000_000


def keep_spare(state: StatePaths) -> None:
    """Have them, as far as the disk gives them; nothing to do when they are there."""
    if not state.spare.exists():
        with contextlib.suppress(OSError):
            # random, so that no file system stores them in less room
            write_atomic(state.spare, os.urandom(SPARE_BYTES))


def give_up_spare(state: StatePaths) -> None:
    """Let the disk have them when it is full; nothing to do on one that is not. The next run that finds room takes them again."""
    with contextlib.suppress(OSError):
        space = os.statvfs(state.root)
        if space.f_bavail * space.f_frsize < SPARE_BYTES:
            state.spare.unlink(missing_ok=True)
