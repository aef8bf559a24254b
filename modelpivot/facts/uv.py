"""uv as this host runs it: the command, its variables, and a cache on the file system of the environments (hard links instead of copies)."""

import os
from dataclasses import dataclass
from pathlib import Path

from modelpivot.facts.pip import uv_environment
from modelpivot.facts.tools import find_uv
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import BuildSettings

OWN_ENVIRONMENT = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME")
"""Variables that speak of our own environment; the engine's must not hear of it."""


@dataclass(frozen=True)
class Uv:
    """uv with all it is told."""

    path: Path
    environment: dict[str, str]
    cache: Path
    is_shared_cache: bool
    """True: the user's own cache; False: one beside the environments, since the user's lies on another file system."""


def read_uv(host: HostConfig) -> Uv:
    """PreconditionError when uv is not installed."""
    own = user_cache()
    is_shared = device_of(own) == device_of(host.environments_root)
    cache = own if is_shared else host.environments_root.parent / "cache"
    variables = uv_environment({name: value for name, value in os.environ.items() if name not in OWN_ENVIRONMENT})
    return Uv(find_uv(), {**variables, "UV_CACHE_DIR": str(cache), "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}, cache, is_shared)


def build_environment(uv: Uv, host: HostConfig, build: BuildSettings) -> dict[str, str]:
    """uv's variables with those that a build from source wants: CUDA_HOME of the host and its compiler on the PATH, then the recipe's."""
    variables = dict(uv.environment)
    if host.cuda_home:
        variables |= {"CUDA_HOME": str(host.cuda_home), "PATH": f"{host.cuda_home / 'bin'}:{variables.get('PATH', os.defpath)}"}
    return variables | build.env


def user_cache() -> Path:
    """Where uv keeps its cache unless it is told otherwise."""
    if named := os.environ.get("UV_CACHE_DIR"):
        return Path(named).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uv"


def device_of(path: Path) -> int:
    """st_dev of the nearest parent that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path.stat().st_dev
