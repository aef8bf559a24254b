"""What an environment is made with, for the question of a year later: who asked for what, from which indexes, with which tools."""

import platform
import re
import time
from importlib import metadata

from modelpivot.facts.resolution import interpreter
from modelpivot.facts.uv import Uv
from modelpivot.files import digest_text
from modelpivot.host import run_command
from modelpivot.models.engine import Provenance, Resolution
from modelpivot.models.host import HostConfig

SOURCES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NO_INDEX", "UV_INDEX_STRATEGY")
CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def read_provenance(uv: Uv, host: HostConfig, resolution: Resolution, *, is_rebuilt: bool) -> Provenance:
    """Of an environment that is made now."""
    return Provenance(
        made_at=time.time(),
        modelpivot=metadata.version("modelpivot"),
        uv=run_command([uv.path, "--version"], timeout_s=20).stdout.strip(),
        python=interpreter(host),
        platform=platform.platform(),
        sources={name: mask(uv.environment[name]) for name in SOURCES if uv.environment.get(name)},
        cuda_home=str(host.cuda_home) if host.cuda_home else "",
        lock_sha256=digest_text(resolution.lock_text),
        asked=resolution.asked,
        is_rebuilt=is_rebuilt,
    )


def mask(address: str) -> str:
    """Addresses without user and password."""
    return CREDENTIALS.sub("", address)
