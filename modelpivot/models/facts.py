"""Facts read from the host and of the model. Reading changes nothing; `Unread` with its reason is an answer, never a zero."""

from pathlib import Path

from pydantic import Field, JsonValue

from modelpivot.models.cutover import Cutover
from modelpivot.models.engine import Resolution
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.manifest import Manifest
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.release import Release


class GpuProcess(Frozen):
    """A process that holds GPU memory."""

    gpu_uuid: str
    pid: int
    name: str
    used_bytes: int | Unread


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


class Gpus(Frozen):
    """All GPUs and who uses them. A host without any has empty lists."""

    gpus: list[Gpu] = Field(default_factory=list)
    processes: list[GpuProcess] = Field(default_factory=list)


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


class Listener(Frozen):
    """A TCP port that something on this host listens on."""

    port: int
    address: str
    pid: int | None
    command: str = ""


class Tool(Frozen):
    """A command that we need, found."""

    path: Path
    version: str


class WeightsOnDisk(Frozen):
    """What of a manifest already lies in its directory."""

    directory: Path
    present_files: int
    """Whole by their receipts."""
    missing_bytes: int
    """Still to come, partial downloads counted as there."""
    missing_files: int


class HostFacts(Frozen):
    """The host."""

    read_at: float
    gpus: Gpus | Unread
    disks: list[Disk | Unread]
    """For the weights, environments and state roots, in this order."""
    memory_bytes: int | Unread
    """Available memory."""
    listeners: list[Listener] | Unread
    tools: dict[str, Tool | Unread]
    current: Release | None
    """The release that releases.json names current."""
    current_answers: bool | Unread
    """Whether it generates right now; Unread: there is none, or no way to ask."""
    cutover: Cutover | None
    """An open switch."""
    switch_lives: bool = False
    """Whether the process of the open switch lives."""
    supervisor: str | Unread = "process"
    """What starts and stops engines here: systemd or process; Unread: what the configuration asks for is not here."""
    own_pids: list[int] = Field(default_factory=list)
    """Processes of the current release and of the two releases of an open switch; any other is a stranger."""
    frozen: list[Release] = Field(default_factory=list)
    """Releases of this recipe's name on this host whose view stands, file by file."""
    has_api_key: bool = False
    """Whether the host's key file is there (its content is no fact)."""


class ModelFacts(Frozen):
    """The model on the Hub and on disk."""

    manifest: Manifest | Unread
    hub_problem: str = ""
    """unreachable, unauthorized, gated, not_found, revision_gone: the remedy follows from it."""
    config: dict[str, JsonValue] | Unread
    """config.json."""
    summary: ModelConfig | Unread = Unread(unread="not asked")
    """What config.json says of the model."""
    on_disk: WeightsOnDisk | Unread


class EngineFacts(Frozen):
    """The engine: what would be installed, and whether it is."""

    resolution: Resolution | Unread
    environment_proved: bool
    """True: the environment of this resolution is on disk with its proof."""
    environment_dir: Path | Unread


class Facts(Frozen):
    """Everything a plan is made from; `modelpivot plan --facts FILE` reads it back."""

    host: HostFacts
    model: ModelFacts
    engine: EngineFacts
    read_s: float = 0.0
    """Seconds that reading took."""
