"""A PostgreSQL of the tests' own: a throw-away cluster behind a Unix socket, run as a user without rights, since it refuses to run as root."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOTS = (Path("/usr/lib/postgresql"), Path("/usr/local/pgsql"))
USERS = ("postgres", "nobody")


def find_binaries() -> Path | None:
    """The folder of the newest initdb on this machine."""
    found = sorted((path.parent for root in ROOTS for path in root.rglob("bin/initdb")), key=lambda path: path.parent.name)
    on_path = shutil.which("initdb")
    return found[-1] if found else Path(on_path).parent if on_path else None


def become() -> tuple[str, Callable[[], None] | None]:
    """The user that the cluster belongs to, and what a child does to become it; this user where it is not root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name, None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = next(known[name] for name in USERS if name in known)

    def change() -> None:
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)

    return entry.pw_name, change


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """Its address; skipped by name where no PostgreSQL is installed."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    user, change = become()
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        root = Path(folder)
        shutil.chown(root, user)
        root.chmod(0o755)

        def call(name: str, *words: str) -> None:
            done = subprocess.run([binaries / name, *words], preexec_fn=change, cwd=root, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr

        call("initdb", "-D", f"{root}/data", "-U", "pivot", "--auth", "trust", "--no-sync", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={root} -c fsync=off"
        call("pg_ctl", "-D", f"{root}/data", "-l", f"{root}/log", "-o", options, "-w", "start")
        try:
            yield f"postgresql://pivot@/postgres?host={root}"
        finally:
            call("pg_ctl", "-D", f"{root}/data", "-m", "immediate", "-w", "stop")
