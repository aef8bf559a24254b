"""Whether a user may run from an environment: every folder on the way to it and to its interpreter, and every file in it. By mode bits."""

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from modelpivot.facts.environments import environment_python
from modelpivot.files import walk


class Identity(NamedTuple):
    """Who asks."""

    uid: int
    groups: frozenset[int]


def find_closed(environment: Path, user: str) -> list[str]:
    """What this user cannot pass, read or run, the way there first; a user that is not there is one finding."""
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        return [f"anything: this host has no user {user}"]
    who = Identity(entry.pw_uid, frozenset(os.getgrouplist(user, entry.pw_gid)))
    if who.uid == 0:
        return []
    python = environment_python(environment).resolve()
    ways = dict.fromkeys([*reversed(environment.resolve().parents), *reversed(python.parents)])
    closed = [str(folder) for folder in ways if not may(folder.stat(), who, stat.S_IXOTH)]
    closed += [] if may(python.stat(), who, stat.S_IROTH | stat.S_IXOTH) else [str(python)]
    return closed + list(_closed_inside(environment, who))


def _closed_inside(environment: Path, who: Identity) -> Iterator[str]:
    for folder, folders, files in walk(environment):
        folders[:] = [name for name in folders if name != ".modelpivot"]
        if not may(Path(folder).stat(), who, stat.S_IROTH | stat.S_IXOTH):
            yield folder
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink() and not may(path.stat(), who, stat.S_IROTH):
                yield str(path)


def may(found: os.stat_result, who: Identity, wanted: int) -> bool:
    """Pure: whether mode bits give all that is wanted (bits for others) to this user; as owner, by group, else as others."""
    shift = 6 if found.st_uid == who.uid else 3 if found.st_gid in who.groups else 0
    return (found.st_mode >> shift) & wanted == wanted
