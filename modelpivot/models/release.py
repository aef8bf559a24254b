"""A release: one served state, frozen and complete in itself. Going back needs no recipe, no network and no decision."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from modelpivot.models.engine import Gate
from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import Deadlines, Hooks, Patch, Probe


class Endpoint(Frozen):
    """Where a release answers."""

    bind: str
    port: int
    served_name: str
    api_key_file: Path | None = None
    """File with the key (0600); the key itself is in no release."""

    @property
    def base_url(self) -> str:
        """Address for a client on this host, without trailing slash."""
        host = "127.0.0.1" if self.bind in ("0.0.0.0", "::", "") else self.bind
        return f"http://{host}:{self.port}"


class StartSpec(Frozen):
    """All that starts the engine: nothing is decided later."""

    argv: list[str]
    environment: dict[str, str]
    """The complete environment beside HOME and LANG of the supervisor; its PATH where this one has none."""
    working_directory: Path
    user: str | None = None


class Release(Frozen):
    """One served state. `id` is made of what is served, so that the same recipe on the same host gives the same release."""

    id: str
    name: str
    """The recipe's name, or the unit's for an adopted one."""
    origin: Literal["recipe", "adopted"] = "recipe"
    serving_digest: str
    """sha256 over everything that decides what is served: commit, patches, engine lock, start specification."""
    repo: str
    commit: str
    weights_dir: Path
    view_dir: Path
    environment_dir: Path
    engine: str
    engine_version: str
    start: StartSpec
    endpoint: Endpoint
    gate: Gate | None = None
    """How far it may be started while another release serves; None: not at all."""
    gpus: int = 0
    patches: list[Patch] = Field(default_factory=list)
    probes: list[Probe] = Field(default_factory=list)
    deadlines: Deadlines = Deadlines()
    hooks: Hooks = Hooks()
    created_at: float = 0.0
    """Seconds since the epoch."""


class Stopped(Frozen):
    """What was stopped by name (`modelpivot cleanup`): nothing starts it again but a person's word."""

    name: str
    """A release's id, or a service that was never adopted."""
    is_release: bool = True
    was_enabled: bool = False
    """A service that was not made by us started at boot."""
    at: float
    """Seconds since the epoch."""


class ReleaseBook(Frozen):
    """Which release is current, which was before, and which were ever proved (`releases.json`)."""

    current: str | None = None
    previous: str | None = None
    proved: list[str] = Field(default_factory=list)
    """Ids that passed ready and probe in a switch, or were current when adopted; newest last."""
    retired: dict[str, float] = Field(default_factory=dict)
    """Id -> when it stopped being current or previous; seconds since the epoch."""
    stopped: list[Stopped] = Field(default_factory=list)
    """What somebody stopped by name and nobody started since; a current release among it stays the current one."""

    @field_validator("stopped", mode="before")
    @classmethod
    def _read_single(cls, value: object) -> object:
        """A book of an earlier version holds one entry or null."""
        return value if isinstance(value, list) else [] if value is None else [value]

    @property
    def is_current_stopped(self) -> bool:
        """Whether the current release does not serve because somebody asked for it."""
        return any(each.name == self.current for each in self.stopped)
