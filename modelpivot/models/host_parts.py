"""Parts of a host beside its GPUs: disks, ports, tools, environments, weights that lie there, rates seen."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen, Unread


class Disk(Frozen):
    """The file system that a path lies on, or will lie on."""

    path: Path
    mount: Path
    kind: str
    """File system type as /proc/mounts names it: ext4, nfs4, overlay."""
    device: int
    """st_dev: two paths with the same share their space."""
    total_bytes: int
    free_bytes: int
    """For this user."""
    is_writable: bool
    is_read_only: bool = False
    """Mounted read-only."""
    is_noexec: bool = False
    """Nothing on it can be executed: no place for an environment."""
    is_network: bool = False
    """The bytes come over a network: slow to read, slow to hash."""
    free_inodes: int | None = None
    """Files and folders that still fit; None: this file system has no such limit."""
    quota_free_bytes: int | None = None
    """What this user's quota leaves; None: no quota that could be read."""


class Listener(Frozen):
    """A TCP port that something on this host listens on."""

    port: int
    address: str
    pid: int | None
    command: str = ""
    unit: str = ""
    """The systemd service whose control group holds the process; empty: none."""


class PortRange(Frozen):
    """Ports from `first` to `last`, both included."""

    first: int
    last: int

    def __contains__(self, port: int) -> bool:
        return self.first <= port <= self.last


class OutgoingPorts(Frozen):
    """Local ports that the kernel gives to outgoing connections by itself."""

    ports: PortRange
    reserved: list[PortRange] = Field(default_factory=list)
    """Kept out of them."""

    def __contains__(self, port: int) -> bool:
        return port in self.ports and not any(port in kept for kept in self.reserved)


class Tool(Frozen):
    """A command that we need, found."""

    path: Path
    version: str


class Packages(Frozen):
    """One environment on disk: who may serve from it, and what is in it."""

    path: Path
    python: str
    """Version of its interpreter, `3.12.3`."""
    versions: dict[str, str]
    """Of the packages that matter to an engine: distribution -> version, the one that brings `vllm` among them."""
    engine: str | None = None
    """The distribution that brings the module `vllm`; None: there is none."""
    torch_cuda: str | None = None
    """CUDA that torch was built for, `12.8`; None: a CPU build, or none at all."""
    is_current: bool = False
    """The current release starts from it, or a process on a GPU does."""


class Toolchain(Frozen):
    """What compiled parts stand on."""

    glibc: str | Unread
    cuda_toolkits: dict[str, str] = Field(default_factory=dict)
    """Path -> version."""
    kernel: str = ""


class StoredWeights(Frozen):
    """One directory of weights below the weights root."""

    path: Path
    repo: str
    """Empty: the folder is not one of ours."""
    commit: str
    size_bytes: int
    state: Literal["complete", "partial", "foreign"]
    """complete: every file of its manifest has a valid receipt; foreign: no manifest of ours beside it."""
    partial_bytes: int = 0
    """Of unfinished downloads in it."""
    used_by: list[str] = Field(default_factory=list)
    """Releases whose view shows it."""
    filesystem: int = 0
    """st_dev."""
    irreplaceable: list[str] = Field(default_factory=list)
    """Weights in it that no manifest names: they exist nowhere else that we know of, and are never reclaimed unasked."""


class HubCache(Frozen):
    """The Hub library's own cache, and what in it nothing references."""

    path: Path
    size_bytes: int
    repos: int
    unreferenced_bytes: int
    """Blobs that no snapshot links to, interrupted downloads among them."""
    filesystem: int = 0


class SeenRates(Frozen):
    """How fast things went on this host, the newest run first; None: never seen here."""

    download_bytes_per_s: float | None = None
    install_s: float | None = None
    verify_bytes_per_s: float | None = None
    switch_s: float | None = None
    """From the stop of the old engine until the new one had generated and was probed."""
    benchmark_s: float | None = None
    runs: int = 0
    """Finished runs that these come from."""
