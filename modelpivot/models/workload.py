"""What a recipe wants measured, and how good it must be. Workloads are data; nothing here measures."""

import hashlib
from typing import Annotated, Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen

Metric = Literal["output_tokens_per_s", "requests_per_s", "median_ttft_ms", "median_tpot_ms", "p99_ttft_ms", "p99_tpot_ms"]
ROUNDS = 4
"""Requests that a point of a sweep asks at least one after another in each of its streams."""


class Workload(Frozen):
    """One measurement with the engine's own benchmark client, or one for each step of a sweep."""

    name: str
    prompts: int = Field(default=20, ge=1)
    concurrency: int = Field(default=1, ge=1)
    sweep: list[Annotated[int, Field(ge=1)]] = Field(default_factory=list)
    """Concurrencies measured one after another, each a workload of its own named `name@8`; empty: `concurrency` alone."""
    input_tokens: int = Field(default=64, ge=1)
    """Of each prompt, a shared prefix not counted."""
    output_tokens: int = Field(default=32, ge=1)
    prefix_tokens: int = Field(default=0, ge=0)
    """Tokens that all prompts begin with, as a long system prompt would."""
    ignore_eos: bool = True
    """True: every answer has exactly `output_tokens`. False: the model ends it, and answers of other lengths are not compared."""
    warm_ups: int = Field(default=2, ge=0)
    """Requests before the clock starts."""
    repeats: int = Field(default=1, ge=1, le=20)
    """Times that it is measured in one start of the engine, each with a seed of its own."""
    seed: int = 0

    def points(self) -> list["Workload"]:
        """What is measured one by one: a sweep's steps, with enough prompts to fill each, or the workload itself."""
        return [
            self.model_copy(
                update={
                    "name": f"{self.name}@{streams}",
                    "concurrency": streams,
                    "sweep": [],
                    "prompts": max(self.prompts, ROUNDS * streams),
                }
            )
            for streams in self.sweep
        ] or [self]

    @property
    def digest(self) -> str:
        """sha256 over what is asked, its name and the number of repeats aside: results with the same one may be compared."""
        asked = self.model_dump_json(exclude={"name", "repeats", "sweep"})
        return hashlib.sha256(asked.encode()).hexdigest()


class Regression(Frozen):
    """When a change against the baseline of the same host, model and workload is a regression. Without a baseline only floors decide."""

    percent: float = Field(default=5.0, gt=0, lt=100)
    """A loss of more than this, and of more than the noise, is a regression."""
    percents: dict[Metric, Annotated[float, Field(gt=0, lt=100)]] = Field(default_factory=dict)
    """The same for single metrics."""
    metrics: list[Metric] = Field(default=["output_tokens_per_s", "median_ttft_ms", "median_tpot_ms"], min_length=1)
    """What is judged."""
    starts: int = Field(default=5, ge=1, le=50)
    """Starts of the engine at most that an upgrade test makes because the figures cannot tell; `bench --starts` says its own number."""
    cannot_tell: Literal["promote", "return"] = "promote"
    """What a pivot does when the figures cannot tell."""

    def allowed(self, metric: Metric) -> float:
        """The loss that is allowed, 0..1."""
        return self.percents.get(metric, self.percent) / 100


class Floor(Frozen):
    """What a workload must reach at least: the first pivot to a model has no baseline."""

    workload: str
    success_rate: float = Field(default=1.0, ge=0, le=1)
    output_tokens_per_s: float = Field(default=0.0, ge=0)
    median_ttft_ms: float | None = None
    """Largest median time to first token, milliseconds; None: not judged."""
    median_tpot_ms: float | None = None
    """Largest median time for each output token after the first, milliseconds; None: not judged."""
