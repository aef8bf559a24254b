"""Making room on paper: what lies below the roots of a host, what of it may go, what stays and why, and what was done.

Names are spelled (`models/spelled.py`), so that any file name can be shown and written. Bytes are bytes on disk.
"""

from collections.abc import Collection
from typing import Literal, get_args

from pydantic import Field

from modelpivot.models.frozen import Frozen

Kind = Literal["unfinished", "partials", "cache", "kernels", "views", "environments", "weights"]
"""unfinished: what an interrupted reclaim had moved aside. partials: downloads that nobody goes on with. cache: of the Hub library, what nothing
references. kernels: compiled kernels of releases that are over. views: their folders, logs with them. environments, weights: whole directories."""
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In the order in which they go: what costs least first."""
Role = Literal["current", "previous", "candidate", "switch", "run", "retired"]
"""What a release is to this host. candidate: the newest that was never proved; switch: of an open one; run: a living run planned it."""
Ask = Literal["yes", "named"]
"""yes: goes with one yes for all. named: only when its own id is agreed to."""


class Root(Frozen):
    """A configured folder, below which things may go. The configured path may be a link; below it none is followed."""

    name: Literal["weights", "environments", "state", "hub cache"]
    path: str
    """As configured."""
    real: str
    device: int
    inode: int
    problem: str = ""
    """Why nothing can go from it: it cannot be read, or not be written to. Empty: something can."""
    is_network: bool = False
    """Other hosts may use it; what they need is not seen from here."""


class Part(Frozen):
    """One file or directory that goes whole."""

    name: str
    """Below the root, spelled."""
    digest: str
    """Over every entry in it: name, inode, size, time. What differs when it is to go stays."""
    files: int
    size_bytes: int
    frees_bytes: int
    """Of files whose names all lie in it; what other names (hard links) keep alive is not freed."""


class Holder(Frozen):
    """A process that has something open, mapped, or as its working directory."""

    pid: int
    """0: the kernel itself (a loop device, swap)."""
    command: str
    unit: str = ""

    def __str__(self) -> str:
        where = f" of {self.unit}" if self.unit else ""
        return f"process {self.pid}{where} ({self.command[:80]})" if self.pid else self.command


class Need(Frozen):
    """A release, or a living run, that names something."""

    by: str
    how: str = "names it"


class Found(Frozen):
    """One thing below a root that could go, with all that speaks against it."""

    kind: Kind
    root: Root
    parts: list[Part]
    what: str
    costs: str
    """What is lost with it."""
    repo: str = ""
    commit: str = ""
    is_refetchable: bool = True
    """False: no manifest of ours says where it came from."""
    irreplaceable: list[str] = Field(default_factory=list)
    """Weights in it that no manifest names, spelled."""
    needs: list[Need] = Field(default_factory=list)
    holders: list[Holder] = Field(default_factory=list)
    linked_from: list[str] = Field(default_factory=list)
    """Links elsewhere below the roots that lead into it."""
    problem: str = ""
    """What makes it impossible to remove safely: a mount point inside, another file system, another root inside."""
    idle_since: float = 0.0
    """Seconds since the epoch: nothing needed or changed it after that."""
    is_pinnable: bool = False
    """Somebody may use it by a name of their own that is written nowhere."""
    made_at: float = 0.0

    @property
    def name(self) -> str:
        """Its first part's."""
        return self.parts[0].name

    @property
    def id(self) -> str:
        """What a person agrees to it by."""
        return f"{self.kind}:{self.name}"

    @property
    def path(self) -> str:
        """Where it lies, spelled."""
        return f"{self.root.real}/{self.name}"

    @property
    def size_bytes(self) -> int:
        """On disk."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def frees_bytes(self) -> int:
        """What its removal gives back, at least."""
        return sum(part.frees_bytes for part in self.parts)


class Known(Frozen):
    """A release on this host, or the candidate of a living run."""

    id: str
    roles: list[Role]
    idle_since: float
    """Seconds since the epoch: when it stopped being current or previous, or was frozen."""
    is_adopted: bool = False


class ReclaimFacts(Frozen):
    """What lies below the roots, and who needs what."""

    read_at: float
    roots: list[Root]
    found: list[Found]
    known: list[Known] = Field(default_factory=list)
    unseen: int = 0
    """Processes whose open files cannot be looked into."""
    is_switch_open: bool = False
    unproved: list[str] = Field(default_factory=list)
    """What a killed reclaim had moved aside before it was proved; the next one puts it back."""


class Item(Frozen):
    """Something that may go."""

    found: Found
    why: str
    ask: Ask

    @property
    def id(self) -> str:
        """What a person agrees to it by."""
        return self.found.id

    def __str__(self) -> str:
        return f"{self.found.what} at {self.found.path}: {self.why}"


class Kept(Frozen):
    """Something that stays, with the reason."""

    id: str
    path: str
    what: str
    size_bytes: int
    why: str


class ReclaimPlan(Frozen):
    """What may go, what stays. Pure: made of facts and host configuration alone."""

    made_at: float
    items: list[Item] = Field(default_factory=list)
    kept: list[Kept] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)

    @property
    def offered_bytes(self) -> int:
        """What all of it would free, at least."""
        return sum(item.found.frees_bytes for item in self.items)

    def agreed(self, *, is_agreed: bool, named: Collection[str] = ()) -> list[Item]:
        """What goes: with one yes everything that asks for no more, and what is named by its id; nothing that lies in another one of these."""
        chosen = [item for item in self.items if item.id in named or (is_agreed and item.ask == "yes")]
        paths = {f"{item.found.path}/" for item in chosen}
        return [item for item in chosen if not any(item.found.path.startswith(path) for path in paths)]


class Gone(Frozen):
    """How one item ended."""

    id: str
    path: str
    what: str
    promised_bytes: int
    freed_bytes: int
    """Measured on the file system."""
    problem: str = ""
    """Why it stayed, or what of it; empty: it is gone."""


class Reclaimed(Frozen):
    """What a reclaim did."""

    run_id: str = ""
    promised_bytes: int = 0
    freed_bytes: int = 0
    """Measured on the file systems, beside what was promised; others write there too."""
    items: list[Gone] = Field(default_factory=list)
    left: list[str] = Field(default_factory=list)
    """Ids that were offered and not agreed to."""

    @property
    def failed(self) -> list[Gone]:
        """What was to go and did not."""
        return [item for item in self.items if item.problem]
