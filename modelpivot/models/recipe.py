"""A recipe: what to serve and how. Portable: no absolute path, no host, no secret. YAML under `deployments/recipes/`."""

import re
from typing import Annotated, Literal

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import AfterValidator, Field, field_validator, model_validator

from modelpivot.models.frozen import Frozen
from modelpivot.models.hooks import Hooks as Hooks
from modelpivot.models.packages import PackagePolicy
from modelpivot.models.patch import Patch as Patch
from modelpivot.models.source import REPO as REPO
from modelpivot.models.source import Source as Source
from modelpivot.models.torch_backend import TorchBackend
from modelpivot.models.workload import Floor, Regression, Workload

Seconds = Annotated[float, Field(gt=0)]
Scalar = str | int | float | bool | None

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
FLAG = re.compile(r"[a-z][a-z0-9-]*(?:\.[A-Za-z0-9_.-]+)?")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
OWN_FLAGS = {"model": "model.repo", "served-model-name": "served_name", "host": "bind", "port": "port", "api-key": "api_key"}
"""Flags that have a field of their own in the recipe."""


class BuildSettings(Frozen):
    """How packages without a wheel are built. CUDA_HOME is the host's (MODELPIVOT_CUDA_HOME)."""

    from_source: list[str] = Field(default_factory=list)
    """Packages that may be built although they are the engine's own; any other package is built only where no wheel is there."""
    no_isolation: list[str] = Field(default_factory=list)
    """Packages built in the environment itself, after everything else (flash-attn needs its torch)."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables of the build, such as MAX_JOBS or TORCH_CUDA_ARCH_LIST."""


class EngineChoice(Frozen):
    """Which engine, by its name in `deployments/engines.yaml`, and what differs from what stands there."""

    name: str
    version: str | None = None
    """None: the newest tested version that engines.yaml names."""
    extra_requirements: list[str] = Field(default_factory=list)
    """Further requirements (PEP 508) for the same environment."""
    exclude_packages: list[str] = Field(default_factory=list)
    """Packages to leave out of the resolution, beside those that engines.yaml leaves out."""
    channel: Literal["stable", "nightly"] = "stable"
    """nightly: the newest development version that the host's nightly index (MODELPIVOT_NIGHTLY_INDEX) has, unless `version` names one."""
    requirements: list[str] = Field(default_factory=list)
    """Instead of those of engines.yaml: another fork, `vllm @ git+https://...@<40 hex>`, a wheel's address. Empty: engines.yaml's."""
    overrides: list[str] = Field(default_factory=list)
    """Requirements (PEP 508) that hold whatever other packages ask for."""
    torch_backend: TorchBackend | None = None
    """uv's `--torch-backend`: cu128, cpu; `driver`: the newest CUDA that this host's driver offers. None: as engines.yaml says."""
    build: BuildSettings = BuildSettings()
    policy: PackagePolicy = PackagePolicy()
    """What may change against the environment that serves now."""
    resolution: str | None = None
    """Digest of an environment begun on this host, to be used as it is: a run pins what its plan found. None: resolved anew, or the kept one."""

    @field_validator("exclude_packages")
    @classmethod
    def _check_packages(cls, names: list[str]) -> list[str]:
        for name in names:
            if not PACKAGE.fullmatch(name):
                raise ValueError(f"package {name!r}: expected letters, digits, dots and dashes")
        return names

    @field_validator("requirements", "extra_requirements", "overrides")
    @classmethod
    def _check_requirements(cls, lines: list[str]) -> list[str]:
        for line in lines:
            try:
                Requirement(line.format(version="0"))
            except (InvalidRequirement, KeyError, IndexError, ValueError) as error:
                raise ValueError(f"requirement {line!r}: expected PEP 508, such as name==1.2: {error}") from None
        return lines


class Serve(Frozen):
    """How the engine is started and where it answers."""

    served_name: str
    """The model name that clients use."""
    port: int = Field(default=8000, ge=1, le=65535)
    bind: str = "127.0.0.1"
    """Address to listen on; loopback unless the recipe says else."""
    api_key: bool = False
    """True: requests need the key that the host keeps in a file."""
    args: dict[str, Scalar | list[str]] = Field(default_factory=dict)
    """Engine flags without dashes: `max-model-len: 4096`; true: the bare flag; false or null: left out."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables of the engine, such as NCCL_PROTO."""
    gpus: int = Field(default=0, ge=0)
    """GPUs that must be there and free; 0: a CPU engine."""

    @field_validator("args")
    @classmethod
    def _check_args(cls, args: dict[str, Scalar | list[str]]) -> dict[str, Scalar | list[str]]:
        for flag in args:
            if not FLAG.fullmatch(flag):
                raise ValueError(f"flag {flag!r}: expected lower case with dashes and without leading dashes, such as max-model-len")
            if flag in OWN_FLAGS:
                raise ValueError(f"flag {flag!r}: expected the field {OWN_FLAGS[flag]} instead")
        return args

    @field_validator("env")
    @classmethod
    def _check_env(cls, env: dict[str, str]) -> dict[str, str]:
        for name, value in env.items():
            if not VARIABLE.fullmatch(name) or "\n" in value or "\0" in value:
                raise ValueError(f"variable {name!r}: expected a name of letters, digits and _, and a value of one line")
        return env


class Probe(Frozen):
    """One question to a model that just became ready."""

    kind: Literal["answer", "repeat", "logprobs"]
    """answer: text comes back; repeat: twice the same at temperature 0; logprobs: finite, and equal to the release's own record."""
    prompt: str = "The quick brown fox jumps over"
    max_tokens: int = Field(default=16, ge=1, le=1024)
    expect: str | None = None
    """answer only. Regular expression that the answer must contain; None: any answer (all that makes sense for random weights)."""
    not_degenerate: bool = True
    """answer only. True: an answer that is one token repeated fails (`!!!!`)."""
    tolerance: float = Field(default=0.25, ge=0)
    """Largest difference of a log-probability (nats) to the record. The default is two steps of a bfloat16 logit between 16 and 32 (8 bits of
    mantissa: 0.125 each): an answer in a batch with others' is rounded otherwise than one alone."""


def _check_probe(probe: Probe) -> Probe:
    """Held against the recipe alone: a release that was frozen with such a probe must go on being read."""
    if probe.kind != "answer" and (unread := [name for name in ("expect", "not_degenerate") if _is_set(probe, name)]):
        raise ValueError(f"{' and '.join(unread)}: expected with kind answer only, {probe.kind} never looks at it")
    try:
        re.compile(probe.expect or "")
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"expect: expected a regular expression: {error}") from None
    return probe


def _is_set(probe: Probe, name: str) -> bool:
    return bool(getattr(probe, name) != Probe.model_fields[name].default)


class Deadlines(Frozen):
    """Seconds that each step of the switch may take; every wait of the switch is one of these."""

    warm_s: Seconds = 900
    """While the old one serves: weights read into memory, the new engine up to its gate. What is not ready by then is left."""
    drain_s: Seconds = 60
    stop_s: Seconds = 90
    """From SIGTERM to SIGKILL of the old engine."""
    free_s: Seconds = 120
    """Until processes, port and GPU memory are measured gone."""
    ready_s: Seconds = 900
    """Without progress of the start (log, memory); each sign of progress starts it again."""
    ready_max_s: Seconds = 7200
    """The whole start, progress or not."""
    probe_s: Seconds = 300
    hooks_s: Seconds = 3600
    """All hooks before, and all hooks after; the switch does not wait for them."""
    confirm_s: Seconds = 7200
    """Unconfirmed for so long: back by itself, unless `unconfirmed: keep`, or nothing served before."""


class Recipe(Frozen):
    """What to serve and how."""

    name: str
    description: str = ""
    model: Source
    probe_model: Source | None = None
    """A small model of the same architecture and quantization that an upgrade test may serve instead; None: a few layers of the model's own."""
    engine: EngineChoice
    serve: Serve
    patches: list[Patch] = Field(default_factory=list)
    probes: list[Annotated[Probe, AfterValidator(_check_probe)]] = Field(
        default_factory=lambda: [Probe(kind="answer"), Probe(kind="repeat"), Probe(kind="logprobs")]
    )
    workloads: list[Workload] = Field(default_factory=lambda: [Workload(name="single")])
    floors: list[Floor] = Field(default_factory=list)
    regression: Regression = Regression()
    deadlines: Deadlines = Deadlines()
    unconfirmed: Literal["return", "keep"] = "return"
    """What the switch does by itself when nobody confirms; where nothing served before, it keeps the new one whatever stands here."""
    hooks: Hooks = Hooks()
    consents: list[str] = Field(default_factory=list)
    """Ids of the plan's questions that this recipe answers with yes."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not NAME.fullmatch(name):
            raise ValueError(f"expected lower-case letters, digits, dots and dashes, found {name!r}")
        return name

    def points(self) -> list[Workload]:
        """Every workload as it is measured, sweeps taken apart."""
        return [point for workload in self.workloads for point in workload.points()]

    @model_validator(mode="after")
    def _check_workloads(self) -> "Recipe":
        names = [point.name for point in self.points()]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"workloads of the same name: {', '.join(twice)}")
        if missing := [floor.workload for floor in self.floors if floor.workload not in names]:
            raise ValueError(f"floors name workloads that are not there: {', '.join(missing)}; there are: {', '.join(sorted(names))}")
        return self
