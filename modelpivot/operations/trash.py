"""Things on their way out of a root: moved aside whole, put back, or deleted name by name. All by descriptors: no link is followed, no mount entered.

<root>/.reclaim/<record>.<n>
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from modelpivot.errors import PreconditionError
from modelpivot.facts.trees import FOLDER, Entry, TreeRefused, mount_id, opened, opened_parent, read_tree
from modelpivot.models.reclaim import Root
from modelpivot.models.spelled import spell, unspell
from modelpivot.state.reclaimed import TRASH, Aside


class Trash:
    """The trash of one root, open for the time of a block (`opened_trash`)."""

    def __init__(self, root: int, trash: int) -> None:
        self._root, self._trash = root, trash

    def read(self, name: str) -> list[Entry]:
        """The tree as it stands under its own name. TreeRefused; OSError when it is gone."""
        with opened_parent(self._root, unspell(name)) as (parent, last):
            return read_tree(parent, last)

    def take(self, part: Aside) -> None:
        """Move a part here, whole and at once. OSError when it cannot be moved: it stays where it is."""
        with opened_parent(self._root, unspell(part.name)) as (parent, last):
            os.rename(last, part.trash, src_dir_fd=parent, dst_dir_fd=self._trash)
            os.fsync(self._trash)
            os.fsync(parent)

    def put_back(self, part: Aside) -> str:
        """Under its own name again; why not, when something else has that by now. Nothing to do when it is not here."""
        if not self.has(part):
            return ""
        try:
            with opened_parent(self._root, unspell(part.name)) as (parent, last):
                if _is_there(parent, last):
                    return f"{part.name} is there again: what was moved aside lies in {TRASH}/{part.trash}"
                os.rename(part.trash, last, src_dir_fd=self._trash, dst_dir_fd=parent)
                os.fsync(parent)
        except (OSError, TreeRefused) as error:
            return f"{part.name} cannot be put back from {TRASH}/{part.trash}: {error}"
        return ""

    def has(self, part: Aside) -> bool:
        """Whether a part lies here."""
        return _is_there(self._trash, part.trash)

    def read_aside(self, part: Aside) -> list[Entry]:
        """The tree of a part that lies here."""
        return read_tree(self._trash, part.trash)

    def delete(self, part: Aside, entries: Sequence[Entry]) -> list[str]:
        """Delete exactly these entries of a part, deepest first; what stays, and why. Nothing to do for what is gone."""
        deleting = _Deleting({(entry.path, entry.inode) for entry in entries}, mount_id(self._trash))
        with contextlib.suppress(FileNotFoundError):
            deleting.remove(self._trash, part.trash, "")
        return deleting.left

    def free_bytes(self) -> int:
        """Of the root's file system, for root."""
        space = os.fstatvfs(self._root)
        return space.f_bfree * space.f_frsize

    def remove_empty(self, name: str) -> None:
        """A folder in the root, if nothing is in it any more."""
        with contextlib.suppress(OSError):
            os.rmdir(unspell(name), dir_fd=self._root)


class _Deleting:
    """One tree being deleted."""

    def __init__(self, known: set[tuple[str, int]], mount: str) -> None:
        self._known, self._mount = known, mount
        self.left: list[str] = []

    def remove(self, parent: int, name: str, path: str) -> None:
        """What was known of it; the rest stays and is said."""
        try:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if (path, found.st_ino) not in self._known:
                self.left.append(f"{spell(path or name)} was not there when it was looked at")
            elif stat.S_ISDIR(found.st_mode):
                self._remove_folder(parent, name, path)
            else:
                os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            return
        except OSError as error:
            self.left.append(f"{spell(path or name)}: {error.strerror}")

    def _remove_folder(self, parent: int, name: str, path: str) -> None:
        with opened(name, FOLDER, at=parent) as handle:
            if mount_id(handle) != self._mount:
                self.left.append(f"{spell(path or name)} is a mount point")
                return
            with os.scandir(handle) as there:
                names = [entry.name for entry in there]
            for each in names:
                self.remove(handle, each, f"{path}/{each}" if path else each)
        if not self.left:
            os.rmdir(name, dir_fd=parent)


@contextmanager
def opened_trash(root: Root) -> Iterator[Trash]:
    """The trash of a root, made where there is none and removed when it is empty again. PreconditionError when the root is another folder by now."""
    with opened(unspell(root.real)) as handle:
        found = os.fstat(handle)
        if (found.st_dev, found.st_ino) != (root.device, root.inode):
            raise PreconditionError(f"{root.path}: expected the folder that was planned for, found another one", hint="plan again")
        with contextlib.suppress(FileExistsError):
            os.mkdir(TRASH, 0o700, dir_fd=handle)
        try:
            with opened(TRASH, at=handle) as trash:
                if mount_id(trash) != mount_id(handle):
                    raise PreconditionError(
                        f"{root.path}/{TRASH} is a mount point", hint="unmount it: it must lie on the root's own file system"
                    )
                yield Trash(handle, trash)
        finally:
            with contextlib.suppress(OSError):
                os.rmdir(TRASH, dir_fd=handle)


def _is_there(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
