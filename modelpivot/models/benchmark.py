"""What was measured, of what, and where it is kept."""

from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import Patch
from modelpivot.models.workload import Metric, Workload


class ServerLoad(Frozen):
    """What the engine itself counted while a workload ran (`/metrics` before, meanwhile and after); None: it does not say."""

    requests: int
    """Finished in that time, whoever asked."""
    own_requests: int
    """Of these, asked by us beside the benchmark: clients that watch the service."""
    foreign_requests: int
    """Of these, asked by nobody of ours, and those that others had under way."""
    preemptions: int | None
    prompt_tokens: int | None
    generation_tokens: int | None
    prefix_hit_rate: float | None
    """0..1 of the prompt tokens that were looked up."""
    peak_kv_use: float | None
    """0..1 of the KV cache."""
    peak_waiting: int | None
    """Requests in the queue at once."""
    peak_running: int | None


class GpuLoad(Frozen):
    """One GPU while a workload ran; None: the driver does not say."""

    index: int
    uuid: str
    mean_power_w: float | None
    peak_power_w: float | None
    mean_sm_clock_mhz: float | None
    mean_memory_clock_mhz: float | None
    peak_memory_bytes: int | None
    peak_temperature_c: float | None
    mean_utilization: float | None
    """0..1."""
    samples: int


class Measurement(Frozen):
    """One workload, measured once by the engine's own client. Figures are over successful requests only; one that is not valid has none."""

    workload: str
    requests: int
    successes: int
    concurrency: int
    duration_s: float | None = None
    output_tokens: int = 0
    output_tokens_per_s: float | None = None
    requests_per_s: float | None = None
    median_ttft_ms: float | None = None
    median_tpot_ms: float | None = None
    """Time for each output token after the first."""
    p99_ttft_ms: float | None = None
    p99_tpot_ms: float | None = None
    invalid: list[str] = Field(default_factory=list)
    """Why there are no figures; empty: valid."""
    warnings: list[str] = Field(default_factory=list)
    """What a reader of the figures has to know."""
    workload_digest: str = ""
    start: str = ""
    """Which start of the engine answered: differences between starts are larger than within one."""
    seed: int | None = None
    at: float = 0.0
    """Seconds since the epoch."""
    server: ServerLoad | None = None
    """None: the engine has no /metrics."""
    gpus: list[GpuLoad] = Field(default_factory=list)

    @property
    def success_rate(self) -> float:
        """0..1."""
        return self.successes / self.requests if self.requests else 0.0

    def figure(self, metric: Metric) -> float | None:
        """One figure by its name; None: not measured."""
        value: float | None = getattr(self, metric)
        return value


class Setup(Frozen):
    """Everything that decides a figure beside the workload: results of one set-up may be pooled."""

    host: str
    gpus: list[str] = Field(default_factory=list)
    """Name and memory of every GPU."""
    driver: str = ""
    cpus: str = ""
    memory_bytes: int | None = None
    kernel: str = ""
    repo: str
    commit: str
    patches: list[Patch] = Field(default_factory=list)
    engine: str
    engine_version: str
    freeze_digest: str = ""
    """Of every package in the engine's environment; empty: an adopted service, whose environment is not ours."""
    argv: list[str] = Field(default_factory=list)
    """How the engine is started, less what names folders and addresses."""
    environment: dict[str, str] = Field(default_factory=dict)

    @property
    def title(self) -> str:
        """For a person."""
        return f"{self.repo}@{self.commit[:8]} on {self.engine} {self.engine_version}, {self.host}"


PROBE_SUFFIX = "-probe"
"""Of the name of a recipe whose probe model an upgrade test tries."""
Standing = Literal["measured", "accepted", "refused"]


class StoredResult(Frozen):
    """One measurement as the history keeps it. accepted: what it measured was promoted, or served; only that is a baseline."""

    id: str
    run_id: str
    release: str
    recipe: str
    recipe_digest: str = ""
    standing: Standing = "measured"
    setup: Setup
    setup_digest: str
    workload: Workload
    measurement: Measurement
    load_s: float | None = None
    """From the start of the engine to its first generation."""
    downtime_s: float | None = None
    """Of the switch that it was measured in."""

    @property
    def is_probe(self) -> bool:
        """A probe model's: never held against the model's own."""
        return self.recipe.endswith(PROBE_SUFFIX)

    @property
    def model(self) -> str:
        """What was served, for a person."""
        return f"{self.setup.repo}, probe model" if self.is_probe else self.setup.repo


class Check(Frozen):
    """One check with its answer; the report lists all of them."""

    name: str
    passed: bool
    expected: str = ""
    found: str = ""

    def __str__(self) -> str:
        return f"{self.name}: expected {self.expected}, found {self.found}"


class Passed(Frozen):
    """The receipt of a gate that said yes to the candidate of one switch."""

    cutover_id: str
    run_id: str
    """The run that measured."""
    measurements: list[Measurement]
    checks: list[Check]
