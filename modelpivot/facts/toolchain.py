"""What compiled parts stand on: glibc, CUDA toolkits, kernel. Needs nothing; starts nothing.

Toolchain(glibc='2.39', cuda_toolkits={'/usr/local/cuda-12.8': '12.8', '/usr/local/cuda-13.1': '13.1'}, kernel='6.8.0-49-generic')
"""

import os
import platform
import re
from pathlib import Path

from modelpivot.models.frozen import Unread
from modelpivot.models.host_parts import Toolchain
from modelpivot.models.json_text import read_json

VERSION = re.compile(r"(\d+\.\d+)")


def read_toolchain(local: Path = Path("/usr/local")) -> Toolchain:
    """Never raises: a part that is not there is empty or unread."""
    return Toolchain(glibc=_read_glibc(), cuda_toolkits=read_toolkits(local), kernel=platform.release())


def read_toolkits(local: Path) -> dict[str, str]:
    """Every `cuda*` folder with a compiler, links looked through so that one toolkit counts once; CUDA_HOME too."""
    named = [Path(os.environ["CUDA_HOME"])] if os.environ.get("CUDA_HOME") else []
    folders = dict.fromkeys(path.resolve() for path in [*sorted(local.glob("cuda*")), *named] if (path / "bin" / "nvcc").exists())
    return {str(folder): _toolkit_version(folder) for folder in folders}


def _toolkit_version(folder: Path) -> str:
    try:
        document = read_json((folder / "version.json").read_text())
        return ".".join(str(document["cuda"]["version"]).split(".")[:2])  # type: ignore[index, call-overload]
    except (OSError, ValueError, LookupError, TypeError):
        match = VERSION.search(folder.name)
        return match[1] if match else "unknown"


def _read_glibc() -> str | Unread:
    try:
        said = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError) as error:
        return Unread(unread=f"glibc: {error}")
    match = VERSION.search(said)
    return match[1] if match else Unread(unread=f"glibc: {said or 'this system has another C library'}")
