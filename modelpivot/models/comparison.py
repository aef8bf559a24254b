"""What comes of holding two sets of results against each other: differences of the set-up, then those of the figures."""

from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen
from modelpivot.models.workload import Metric

Verdict = Literal["passed", "regressed", "improved", "cannot tell"]


class Difference(Frozen):
    """One field of the set-up that is not alike."""

    field: str
    baseline: str
    candidate: str


class Change(Frozen):
    """One metric of one workload, candidate against baseline. Medians over starts."""

    workload: str
    metric: Metric
    baseline: float
    candidate: float
    change: float
    """Relative, positive is better: 0.1 is a tenth more tokens per second, or a tenth less time."""
    band: float | None
    """Relative: a change as large as this is still noise; None: the noise is not known, there are no repeated starts."""
    threshold: float
    """Relative: a loss as large as this is allowed."""
    verdict: Verdict
    baseline_starts: int
    candidate_starts: int


class Comparison(Frozen):
    """A against B. Workloads that cannot be compared have a reason and no figures."""

    baseline: str
    candidate: str
    differences: list[Difference] = Field(default_factory=list)
    refused: list[str] = Field(default_factory=list)
    changes: list[Change] = Field(default_factory=list)
    verdict: Verdict | None = None
    """Of all changes together; None: nothing could be compared."""
