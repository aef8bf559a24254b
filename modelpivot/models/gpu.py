"""GPUs of a host, who uses them, how they reach each other, and what the driver reported of them."""

from pydantic import Field

from modelpivot.models.frozen import Frozen, Unread


class GpuProcess(Frozen):
    """A process that holds GPU memory."""

    gpu_uuid: str
    pid: int
    name: str
    used_bytes: int | Unread
    started_at: float | None = None
    """Seconds since the epoch; None: the process is not to be seen here (another namespace, or over)."""
    command: str = ""
    """Its command line, as far as it can be read."""
    user: str = ""
    unit: str = ""
    """The systemd unit whose control group holds it; empty: none."""


class Gpu(Frozen):
    """One GPU as the driver tells it."""

    index: int
    uuid: str
    name: str
    total_bytes: int | Unread
    used_bytes: int | Unread
    compute_capability: str | Unread
    driver: str | Unread
    mig: str | Unread
    reserved_bytes: int | Unread = Unread(unread="not asked")
    """Kept by driver and firmware: in `total_bytes`, and out of reach for any process."""
    cuda: str | Unread = Unread(unread="not asked")
    """The newest CUDA that the driver offers, `13.0`."""
    pci: str = ""
    """Bus address, `0000:01:00.0`."""


class Xid(Frozen):
    """One error that the driver reported of a GPU since boot."""

    pci: str
    code: int
    message: str


class GpuLink(Frozen):
    """How two GPUs reach each other."""

    first: int
    second: int
    level: str
    """NVLink (NV#), PIX, PXB, PHB, NODE, SYS: from the nearest to the farthest, as `nvidia-smi topo -m` names them."""
    has_p2p: bool | Unread = Unread(unread="not asked")
    """Whether one reads the other's memory directly."""


class Gpus(Frozen):
    """All GPUs and who uses them. A host without any has empty lists."""

    gpus: list[Gpu] = Field(default_factory=list)
    processes: list[GpuProcess] = Field(default_factory=list)
    read_with: str = "nvidia-smi"
    """nvml or nvidia-smi."""
