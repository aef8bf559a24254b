"""The host configuration: where things lie and how this host may be changed."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import Hooks


class HostConfig(Frozen):
    """Where: roots, supervisor, Hub, hooks. From `MODELPIVOT_*` or a GpuHost block."""

    name: str = "localhost"
    weights_root: Path = Path("/var/lib/modelpivot/weights")
    """`<org>--<name>/<commit>/` below it."""
    environments_root: Path = Path("/opt/modelpivot/environments")
    """One folder an engine version below it; uv's cache lies beside, on the same file system."""
    state_dir: Path = Path("/var/lib/modelpivot")
    supervisor: Literal["auto", "process", "systemd"] = "auto"
    """process: detached process groups. systemd: units, needs root. auto: what this host has."""
    hub_endpoint: str = "https://huggingface.co"
    disk_reserve_bytes: int = Field(default=5_000_000_000, ge=0)
    """Bytes that stay free on every file system we write to."""
    port: int | None = None
    """Port to serve on; None: the recipe's."""
    python: str | None = None
    """Interpreter for engine environments; None: the one that runs modelpivot."""
    hooks: Hooks = Hooks()
