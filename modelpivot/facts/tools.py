"""The commands we need, found: uv, nvidia-smi, systemctl. Needs nothing.

uv 0.13.9 (x86_64-unknown-linux-gnu)
systemd 252 (252.39-1~deb12u1)
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.host import run_command
from modelpivot.models.facts import Tool
from modelpivot.models.frozen import Unread

PROJECT = Path(__file__).resolve().parents[2]
VERSION_DEADLINE_S = 20.0


def find_uv(folders: Sequence[str] | None = None) -> Path:
    """uv as MODELPIVOT_UV names it, else from the first of `uv_folders` that has it. PreconditionError when it is nowhere."""
    if named := os.environ.get("MODELPIVOT_UV"):
        if not os.access(named, os.X_OK):
            raise PreconditionError(f"MODELPIVOT_UV={named}: expected a command that can be run", hint="mend the variable or unset it")
        return Path(named)
    looked = uv_folders(os.environ.get("PATH", os.defpath), Path(sys.executable), PROJECT) if folders is None else folders
    if found := shutil.which("uv", path=os.pathsep.join(looked)):
        return Path(found)
    raise PreconditionError(
        f"uv is not installed; looked in {', '.join(looked)}", hint="make setup, or python -m pip install uv, or name it in MODELPIVOT_UV"
    )


def uv_folders(path: str, executable: Path, project: Path) -> list[str]:
    """Pure: where uv is looked for: the PATH, the folder of our interpreter, and `.tools/bin` beside the project."""
    return [*path.split(os.pathsep), str(executable.parent), str(project / ".tools" / "bin")]


def read_tools() -> dict[str, Tool | Unread]:
    """Each tool with its version, or why there is none."""
    return {"uv": _read_uv(), "nvidia-smi": _read_tool("nvidia-smi"), "systemctl": _read_tool("systemctl")}


def _read_uv() -> Tool | Unread:
    try:
        return _read_version(find_uv())
    except PreconditionError as error:
        return Unread(unread=str(error))


def _read_tool(name: str) -> Tool | Unread:
    found = shutil.which(name)
    return _read_version(Path(found)) if found else Unread(unread=f"{name} is not on the PATH")


def _read_version(path: Path) -> Tool | Unread:
    try:
        said = run_command([path, "--version"], timeout_s=VERSION_DEADLINE_S).stdout
    except CommandFailed as error:
        return Unread(unread=str(error))
    return Tool(path=path, version=next(iter(said.strip().splitlines()), "").removeprefix("uv ").strip())
