"""Our unit files in place: verified before they are written, written only if different, read again only if written. Needs root.

/etc/systemd/system/modelpivot-<release>.service    the engine of a release
                    modelpivot-recover.service      takes back at boot what a switch left open
<state>/releases/<id>/unit.service                  the release's unit text, frozen; what stands above is put back from it
                      secrets.env                   0600: the API key
<state>/units.env     what boot unit and switch are told, see `unit_environment.py`
                      adopted.json          0600: the files of a foreign unit, see `adopt.py`
                      invocation.json               the last start, with the processes it had when it was stopped
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.files import write_atomic
from modelpivot.host import run_command
from modelpivot.supervisors.systemctl import show, systemctl

UNITS = Path("/etc/systemd/system")
VERIFY_S = 60.0


@dataclass(frozen=True)
class ReleaseUnitPaths:
    """Files of a release that belong to its unit."""

    root: Path

    @property
    def text(self) -> Path:
        """The unit's frozen text."""
        return self.root / "unit.service"

    @property
    def secrets(self) -> Path:
        """Environment file, 0600."""
        return self.root / "secrets.env"

    @property
    def adopted(self) -> Path:
        """Files of a foreign unit as they stood when it was adopted."""
        return self.root / "adopted.json"

    @property
    def invocation(self) -> Path:
        """The last start."""
        return self.root / "invocation.json"


def place_unit(name: str, text: str) -> bool:
    """Put a unit in place and let systemd read it. True: it was written; nothing to do when it stands there alike.

    CommandFailed with the words of systemd-analyze when the text is no good unit: nothing was written.
    """
    path = UNITS / name
    if path.is_symlink():
        raise PreconditionError(f"{path} is a link to {path.readlink()}", hint=f"somebody masked or replaced it: systemctl unmask {name}")
    is_written = _read(path) != text
    if is_written:
        verify_unit(name, text)
        write_atomic(path, text)
    if is_written or show(name)["NeedDaemonReload"] == "yes":
        systemctl("daemon-reload")
    return is_written


def remove_unit(name: str) -> None:
    """Take a unit of ours out again; nothing to do when it is not there."""
    path = UNITS / name
    if path.exists():
        path.unlink()
        systemctl("daemon-reload")


def verify_unit(name: str, text: str) -> None:
    """CommandFailed when systemd-analyze finds anything wrong in the unit itself, unknown settings and a missing program included."""
    with tempfile.TemporaryDirectory(prefix="modelpivot-unit-") as folder:
        path = Path(folder) / name
        path.write_text(text)
        result = run_command(["systemd-analyze", "verify", path], timeout_s=VERIFY_S, is_checked=False)
    # its exit code counts the faults of other units too
    said = [line.replace(f"{folder}/", "") for line in result.stderr.splitlines() if name in line]
    if said:
        hint = "nothing was written; mend what it names"
        raise CommandFailed(f"{name} is no good unit: {'; '.join(said[:5])}", argv=result.argv, last_lines=said, hint=hint)


def write_secrets(path: Path, text: str) -> None:
    """Readable by root alone; nothing to do when it stands there alike."""
    if not path.exists() or path.read_bytes() != text.encode() or path.stat().st_mode & 0o077:
        write_atomic(path, text, mode=0o600)


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise PreconditionError(f"{path} cannot be read: {error}", hint="look at what lies there") from error
