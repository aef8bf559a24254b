"""An engine change on paper: what `modelpivot env plan` answers; and environments as `env list` and `env export` show them."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen
from modelpivot.models.packages import PackageChange
from modelpivot.models.plan import Blocker, Question

ChangeVerdict = Literal["change", "no_change", "blocked", "no_wheel", "unreachable", "unresolved"]


class EngineChange(Frozen):
    """What an engine change would change. Nothing was touched."""

    verdict: ChangeVerdict
    """change: it may be done (questions may be open); no_change: every package stays; blocked: the policy or the driver forbids it; no_wheel:
    the index has nothing for this machine; unreachable: no index answered; unresolved: the requirements exclude each other."""
    environment: Path | None
    """What it was held against; None: nothing, every package is new."""
    candidate: Path | None
    """Where the new environment would lie, or lies."""
    is_proved: bool = False
    """It lies there already, proved."""
    engine_version: str | None = None
    changes: list[PackageChange] = Field(default_factory=list)
    altered: list[str] = Field(default_factory=list)
    """Files of the environment that were changed in place."""
    blockers: list[Blocker] = Field(default_factory=list)
    questions: list[Question] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    read_s: float = 0.0
    """Seconds that it took."""


class EnvironmentEntry(Frozen):
    """One environment below the environments root."""

    name: str
    path: Path
    engine: str
    engine_version: str
    packages: int
    is_proved: bool
    """False: it was begun and never finished, or changed after its proof."""
    made_at: float
    """Seconds since the epoch."""
    own_bytes: int
    """On disk, not shared with any other environment or uv's cache."""
    shared_bytes: int
    releases: list[str] = Field(default_factory=list)
    """Releases that name it."""
    processes: list[int] = Field(default_factory=list)
    """Processes that run from it."""
    is_surplus: bool = False
    """No release names it, nothing runs from it, and enough newer ones are kept."""


class Environments(Frozen):
    """All of them, newest first."""

    root: Path
    keep: int
    """How many that no release names are kept."""
    environments: list[EnvironmentEntry]


class Exported(Frozen):
    """Everything to make an environment again without network."""

    path: Path
    environment: Path
    packages: int
    size_bytes: int
