"""The host configuration: where things lie and how this host may be changed."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from modelpivot.models.address import check_address
from modelpivot.models.frozen import Frozen
from modelpivot.models.hooks import Hooks
from modelpivot.models.window import Window, parse_window

UNNAMED = "localhost"


class HostConfig(Frozen):
    """Where: roots, supervisor, Hub, hooks. From `MODELPIVOT_*` or a GpuHost block."""

    name: str = UNNAMED
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
    port: int | None = Field(default=None, ge=1, le=65535)
    """Port to serve on; None: the recipe's."""
    python: str | None = None
    """Interpreter for engine environments; None: the one that runs modelpivot."""
    nightly_index: str | None = None
    """Address of the index with development versions of the engine; None: this host knows none."""
    cuda_home: Path | None = None
    """CUDA toolkit that packages without a wheel are built with; None: what the build finds."""
    engine_user: str | None = None
    """User that engines run as (systemd only), who must be able to read environments; None: the user of modelpivot."""
    keep_environments: int = Field(default=3, ge=1)
    """How many environments that no release names stay when space is reclaimed, newest first."""
    window: str | None = None
    """Hours in which this host may be without its service, `Sun-Thu 01:00-05:00 Europe/Berlin`; None: no upgrade test stops what serves."""
    reclaim_after_s: float = Field(default=7 * 86400.0, ge=0)
    """Soak time: seconds that nothing must have needed a release, weights or an environment before they may be reclaimed."""
    hub_cache: Path | None = None
    """Cache of the Hub library, of which only what nothing references may be reclaimed; None: HF_HUB_CACHE, HF_HOME or the library's default."""
    hooks: Hooks = Hooks()

    @field_validator("hub_endpoint")
    @classmethod
    def _check_endpoint(cls, text: str) -> str:
        return check_address(text)

    @field_validator("weights_root", "environments_root", "state_dir")
    @classmethod
    def _check_path(cls, path: Path) -> Path:
        if not str(path).isprintable():
            raise ValueError("expected a path of printable characters (UTF-8)")
        return path

    @field_validator("window")
    @classmethod
    def _check_window(cls, text: str | None) -> str | None:
        if text is not None:
            parse_window(text)
        return text

    @property
    def queue(self) -> str | None:
        """Its own queue in the work pool, of its name; None: it was not given one, as the only host."""
        return None if self.name == UNNAMED else self.name

    def maintenance_window(self) -> Window | None:
        """The window, understood."""
        return parse_window(self.window) if self.window else None
