"""Files and folders that processes hold: open, mapped, as working directory, on a command line, mounted; and the kernel's own. Needs /proc.

/proc/4100/fd/17 -> /pool/weights/nvidia--Kimi-K2.5-NVFP4/4d7e.../model-00001-of-00119.safetensors
7f1c40000000-7f1c80000000 r--s 00000000 08:11 1193       /pool/weights/...
"""

import contextlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from modelpivot.facts.mounts import Mounted, find_mounters, read_mounts
from modelpivot.facts.processes import read_process
from modelpivot.facts.trees import Entry, own_inodes
from modelpivot.models.reclaim import Holder
from modelpivot.models.spelled import spell
from modelpivot.supervisors.adopt import masked_words

MAPPED = re.compile(r"^\S+ \S+ \S+ ([0-9a-f]+):([0-9a-f]+) ([1-9]\d*) +(.+)$", re.MULTILINE)
DELETED = " (deleted)"
Inode = tuple[int, int]
LONGEST_COMMAND = 120
NOWHERE: Inode = (0, 0)
"""Of a path that is named and not open."""
PATH_IN_WORD = re.compile(r"/[^\s\"',;:=\[\]{}()]+")


@dataclass(frozen=True)
class OpenFiles:
    """What is held, by inode and by the name that the kernel knows."""

    by_inode: Mapping[Inode, set[int]]
    by_path: Mapping[str, set[int]]
    of_kernel: Mapping[str, str]
    """Path -> what holds it: a loop device, swap."""
    mounts: Sequence[Mounted] = ()
    unseen: int = 0
    """Processes that cannot be looked into."""

    def holders(self, entries: Sequence[Entry], path: str) -> list[Holder]:
        """Who holds anything of a tree at `path`. A file with names elsewhere counts where it is held by its name here: another environment,
        linked from the same cache, is no holder."""
        own, below = own_inodes(list(entries)), f"{path}/"
        pids = {pid for inode in own & self.by_inode.keys() for pid in self.by_inode[inode]}
        pids |= {pid for name, users in self.by_path.items() if name == path or name.startswith(below) for pid in users}
        kernel = [Holder(pid=0, command=what) for name, what in self.of_kernel.items() if name == path or name.startswith(below)]
        mounted = [Holder(pid=each.pid, command=f"has it mounted at {spell(each.point)}") for each in find_mounters(path, self.mounts)]
        return [_holder(pid) for pid in sorted(pids)] + mounted + kernel


def _holder(pid: int) -> Holder:
    seen = read_process(pid)
    command = " ".join(masked_words(str(seen.get("command", "")).split()))
    return Holder(pid=pid, command=spell(command)[:LONGEST_COMMAND], unit=seen.get("unit", ""))


def read_open_files(proc: Path = Path("/proc")) -> OpenFiles:
    """All that living processes hold now. A process that may not be looked into is counted."""
    own = set(_ancestors(proc))
    inodes, paths, unseen = defaultdict[Inode, set[int]](set), defaultdict[str, set[int]](set), 0
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        pid = int(folder.name)
        try:
            for inode, path in (*_held_by(folder), *(() if pid in own else _claimed(folder))):
                inodes[inode].add(pid)
                paths[path].add(pid)
        except PermissionError:
            unseen += 1
        except OSError:
            continue
    return OpenFiles(inodes, paths, dict(_held_by_kernel()), read_mounts(proc), unseen)


def _ancestors(proc: Path) -> Iterator[int]:
    """This process and those that it descends from: what their command lines name is what is asked for here."""
    pid = os.getpid()
    while pid > 0:
        yield pid
        try:
            pid = int((proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return


def _held_by(folder: Path) -> Iterator[tuple[Inode, str]]:
    for name in ("cwd", "root", "exe"):
        with contextlib.suppress(FileNotFoundError):
            yield from _follow(f"{folder}/{name}")
    for number in os.listdir(f"{folder}/fd"):  # noqa: PTH208 - thousands of names
        yield from _follow(f"{folder}/fd/{number}")
    maps = os.fsdecode((folder / "maps").read_bytes())
    for major, minor, inode, path in set(MAPPED.findall(maps)):
        yield (os.makedev(int(major, 16), int(minor, 16)), int(inode)), _plain(path).replace("\\012", "\n")


def _claimed(folder: Path) -> Iterator[tuple[Inode, str]]:
    """Paths on its command line: an engine reads its weights and closes them, and serves from them all the same."""
    words = [os.fsdecode(word) for word in (folder / "cmdline").read_bytes().split(b"\0")]
    for path in {path for word in words for path in paths_in(word)}:
        yield from ((NOWHERE, place) for place in {path, os.path.realpath(path)})


def _follow(link: str) -> Iterator[tuple[Inode, str]]:
    """Where it leads; nothing for a pipe or socket, or when it is closed by now."""
    with contextlib.suppress(FileNotFoundError):
        path = os.readlink(link)  # noqa: PTH115
        if path.startswith("/"):
            found = os.stat(link)  # noqa: PTH116
            yield (found.st_dev, found.st_ino), _plain(path)


def paths_in(word: str) -> set[str]:
    """Absolute paths in a word of a command line, or in a variable's value: whole, behind an equals sign, or inside JSON and lists."""
    whole = {part for part in (word, word.partition("=")[2]) if part.startswith("/")}
    return whole | set(PATH_IN_WORD.findall(word))


def _plain(path: str) -> str:
    return path.removesuffix(DELETED)


def _held_by_kernel() -> Iterator[tuple[str, str]]:
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            yield backing.read_text().strip(), f"loop device {backing.parts[3]}"
    with contextlib.suppress(OSError):
        for line in Path("/proc/swaps").read_text().splitlines()[1:]:
            yield line.split()[0], "swap"
