"""Facts read from the host and of the model. Reading changes nothing; `Unread` with its reason is an answer, never a zero."""

from pathlib import Path

from pydantic import Field, JsonValue

from modelpivot.models.cutover import Cutover
from modelpivot.models.engine import EngineAnswers, Resolution, Unresolved
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.gpu import Gpu, GpuLink, GpuProcess, Gpus, Xid
from modelpivot.models.host import HostConfig
from modelpivot.models.host_parts import Disk, HubCache, Listener, OutgoingPorts, Packages, SeenRates, StoredWeights, Tool, Toolchain
from modelpivot.models.manifest import Manifest
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.model_parts import HubAccess, ModelCard, ModelWeights, TensorGroup, WeightsOnDisk
from modelpivot.models.packages import LiveEnvironment
from modelpivot.models.release import Release

__all__ = [
    "Disk",
    "EngineFacts",
    "Facts",
    "Gpu",
    "GpuLink",
    "GpuProcess",
    "Gpus",
    "HostFacts",
    "HubAccess",
    "HubCache",
    "Listener",
    "ModelCard",
    "ModelFacts",
    "ModelWeights",
    "Packages",
    "SeenRates",
    "StoredWeights",
    "TensorGroup",
    "Tool",
    "Toolchain",
    "WeightsOnDisk",
    "Xid",
]


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
    current_lacks: list[str] = Field(default_factory=list)
    """Parts of the current release that are gone from the disk: it could not be started again."""
    cutover: Cutover | None
    """An open switch."""
    state: Unread | None = None
    """Why the state on disk cannot be read: what is current and whether a switch is open is not known then. None: it was read."""
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
    links: list[GpuLink] | Unread = Field(default_factory=list)
    """Topology, one entry a pair; empty with fewer than two GPUs."""
    xids: list[Xid] | Unread = Field(default_factory=list)
    environments: list[Packages] | Unread = Field(default_factory=list)
    toolchain: Toolchain | Unread = Unread(unread="not asked")
    stored: list[StoredWeights] | Unread = Field(default_factory=list)
    hub_cache: HubCache | Unread | None = None
    """None: there is none."""
    outgoing_ports: OutgoingPorts | Unread = Unread(unread="not asked")
    rates: SeenRates = SeenRates()


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
    quantization_file: dict[str, JsonValue] | Unread | None = None
    """hf_quant_config.json; None: the repository has none."""
    texts: dict[str, str] = Field(default_factory=dict)
    """config.json and hf_quant_config.json as they stand there, for what a patch changes in them; empty: not known."""
    weights: ModelWeights | Unread = Unread(unread="not asked")
    card: ModelCard | Unread = Unread(unread="not asked")
    access: HubAccess = HubAccess()
    left_out: list[str] = Field(default_factory=list)
    """Files of the repository that are not in the manifest: the choice is shown in the plan."""


class EngineFacts(Frozen):
    """The engine: what would be installed, and whether it is."""

    resolution: Resolution | Unread
    environment_proved: bool
    """True: the environment of this resolution is on disk with its proof."""
    environment_dir: Path | Unread
    answers: EngineAnswers | None = None
    """What the installed engine said of itself; None: it is not installed yet, or was never asked."""
    problem: Unresolved | None = None
    """Why there is no resolution, in one word; None: there is one."""
    live: LiveEnvironment | Unread | None = None
    """The environment that the current release runs from; None: there is no current release."""


class Facts(Frozen):
    """Everything a plan is made from; `modelpivot plan --facts FILE` reads it back."""

    host: HostFacts
    model: ModelFacts
    engine: EngineFacts
    read_s: float = 0.0
    """Seconds that reading took."""
    configuration: HostConfig | None = None
    """The host configuration that they were read with; a plan from recorded facts goes by it."""
