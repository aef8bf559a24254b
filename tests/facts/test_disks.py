"""Disks: the file system that a path will lie on, and what is unread."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from modelpivot.facts.disks import mount_of, nearest_existing, read_disk
from modelpivot.models.facts import Disk
from modelpivot.models.frozen import Unread
from tests.lab.sandbox import UNABLE
from tests.weights.test_disk import mounted, needs_namespaces

MOUNTINFO = r"""22 1 254:0 / / rw,relatime - ext4 /dev/root rw
36 22 98:0 / /mnt/pool rw,noatime shared:1 - xfs /dev/sdb1 rw
37 36 0:41 / /mnt/pool/my\040models rw - nfs4 server:/models rw
38 22 0:50 /sub /data rw - btrfs /dev/sdc rw
39 38 0:51 / /data rw - tmpfs tmpfs rw
"""


def test_a_path_that_is_not_there_yet_lies_where_its_nearest_parent_does(tmp_path: Path) -> None:
    """The sizes are those of the file system below it, and the path is the one asked for."""
    path = tmp_path / "not" / "there" / "yet"
    disk = read_disk(path)
    assert isinstance(disk, Disk)
    space = os.statvfs(tmp_path)
    assert (disk.path, disk.device, disk.total_bytes) == (path, tmp_path.stat().st_dev, space.f_blocks * space.f_frsize)
    assert disk.is_writable
    assert 0 < disk.free_bytes <= disk.total_bytes


WRITTEN = 8 << 20
FREE = f"""import json, sys
from pathlib import Path
from modelpivot.facts.disks import read_disk
root = Path(sys.argv[1])
before = read_disk(root)
(root / "file").write_bytes(bytes({WRITTEN}))
print(json.dumps({{"taken": before.free_bytes - read_disk(root).free_bytes, "total": before.total_bytes}}))
"""


@needs_namespaces
def test_free_space_shrinks_by_what_is_written(tmp_path: Path) -> None:
    """Free bytes are read from the file system itself, in bytes; on one of the test's own, where nobody else writes or frees meanwhile."""
    script = 'mkdir "$1/own"; mount -t tmpfs -o size=32m none "$1/own"; exec "$2" -c "$3" "$1/own"'
    assert mounted(script, str(tmp_path), sys.executable, FREE) == {"taken": WRITTEN, "total": 32 << 20}


@pytest.mark.parametrize(
    ("path", "mount", "kind"),
    [
        ("/etc", "/", "ext4"),
        ("/mnt/pool/a/b", "/mnt/pool", "xfs"),
        ("/mnt/pooled", "/", "ext4"),
        ("/mnt/pool/my models/x", "/mnt/pool/my models", "nfs4"),
        ("/data/x", "/data", "tmpfs"),
    ],
)
def test_the_mount_is_the_longest_and_latest_above_the_path(path: str, mount: str, kind: str) -> None:
    """A name that only begins alike is another folder; a blank is escaped; a later mount hides an earlier one."""
    assert mount_of(Path(path), MOUNTINFO)[:2] == (Path(mount), kind)


def test_a_file_in_the_way_is_unread(tmp_path: Path) -> None:
    """A root below a plain file can never be made: said, not sized."""
    (tmp_path / "file").touch()
    disk = read_disk(tmp_path / "file" / "weights")
    assert isinstance(disk, Unread)
    assert "no directory" in disk.unread


def test_a_link_that_leads_nowhere_is_passed_over(tmp_path: Path) -> None:
    """The nearest parent is one that is there."""
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert nearest_existing(tmp_path / "link" / "x") == tmp_path


def test_a_link_leads_to_the_file_system_behind_it(tmp_path: Path) -> None:
    """The device is that of the target: what is written goes there."""
    (tmp_path / "link").symlink_to("/proc")
    disk = read_disk(tmp_path / "link")
    assert isinstance(disk, Disk)
    assert (disk.device, disk.kind) == (Path("/proc").stat().st_dev, "proc")


@pytest.mark.skipif(os.geteuid() != 0, reason=f"{UNABLE}: only root becomes another user")
def test_a_folder_of_somebody_else_is_not_writable() -> None:
    """Asked as a user without the right, the file system is one that refuses writing."""
    with tempfile.TemporaryDirectory(prefix="modelpivot-closed-") as folder:  # not below tmp_path, which no other user may enter
        Path(folder).chmod(0o755)
        code = "import os; from pathlib import Path; from modelpivot.facts.disks import read_disk; os.setuid(65534)\n"
        code += f"print(read_disk(Path({folder!r})).is_writable)"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
