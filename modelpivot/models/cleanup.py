"""A clean slate on paper: what serves, what is to stop by name, what is free, and what may then go."""

from typing import Literal

from pydantic import Field

from modelpivot.models.facts import Disk, Gpus, HubCache
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.plan import Blocker
from modelpivot.models.reclaim import Reclaimed, ReclaimPlan


class Serving(Frozen):
    """Something that serves on this host now."""

    name: str
    """A release's id, or the name of a service that was not made by us."""
    kind: Literal["release", "service"]
    found: str
    """What was seen of it, for a person."""
    pids: list[int] = Field(default_factory=list)
    is_to_stop: bool = False
    """Somebody asked for it by name."""
    gpus: int = 0
    port: int | None = None


class CleanupPlan(Frozen):
    """What a cleanup would do. Pure: made of facts, host configuration and the names that are to stop."""

    serving: list[Serving] = Field(default_factory=list)
    busy: list[str] = Field(default_factory=list)
    """What keeps GPUs now and would keep them after it, a sentence each."""
    gpus: Gpus | Unread
    disks: list[Disk | Unread]
    hub_cache: HubCache | Unread | None = None
    reclaim: ReclaimPlan
    blockers: list[Blocker] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)

    @property
    def to_stop(self) -> list[Serving]:
        """What stops."""
        return [each for each in self.serving if each.is_to_stop]


class Cleaned(Frozen):
    """What a cleanup did."""

    run_id: str = ""
    stopped: list[str] = Field(default_factory=list)
    obstacles: list[str] = Field(default_factory=list)
    """What still holds GPUs or ports, a sentence each; empty: a clean slate."""
    gpus: Gpus | Unread = Gpus()
    disks: list[Disk | Unread] = Field(default_factory=list)
    hub_cache: HubCache | Unread | None = None
    reclaimed: Reclaimed | None = None
    """None: nothing was agreed to."""
    again: str = ""
    """The command that starts again what was stopped."""
