"""What was measured."""

from pydantic import Field

from modelpivot.models.frozen import Frozen


class Measurement(Frozen):
    """One workload, measured once by the engine's own client. Figures are over successful requests only."""

    workload: str
    requests: int
    successes: int
    concurrency: int
    duration_s: float
    output_tokens: int
    output_tokens_per_s: float
    median_ttft_ms: float
    median_tpot_ms: float
    invalid: list[str] = Field(default_factory=list)
    """Why the figures say nothing; empty: valid."""

    @property
    def success_rate(self) -> float:
        """0..1."""
        return self.successes / self.requests if self.requests else 0.0


class Check(Frozen):
    """One check with its answer; the report lists all of them."""

    name: str
    passed: bool
    expected: str = ""
    found: str = ""

    def __str__(self) -> str:
        return f"{self.name}: expected {self.expected}, found {self.found}"
