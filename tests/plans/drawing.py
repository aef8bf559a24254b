"""Starts drawn by chance as a real machine would give them: the spread of starts that were measured there, and how their figures go together."""

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from modelpivot.models.benchmark import StoredResult
from modelpivot.models.comparison import Comparison
from modelpivot.models.workload import Metric, Regression
from modelpivot.plans.compare import Side, compare
from tests.benchmark.results import SETUP, result

CAPTURE = Path(__file__).parents[1] / "captures" / "vllm-0.26-h200-starts.json"
METRICS: tuple[Metric, ...] = ("output_tokens_per_s", "median_ttft_ms", "median_tpot_ms")
SLOW = {"output_tokens_per_s": -1, "median_ttft_ms": 1, "median_tpot_ms": 1}
NEWER = SETUP.model_copy(update={"engine_version": "0.27.0"})


def recorded() -> tuple[list[StoredResult], list[StoredResult]]:
    """Starts on one H200: of the plain engine, and of the one that takes 1.11 times as long for every step."""
    results = TypeAdapter(list[StoredResult]).validate_json(CAPTURE.read_bytes())
    plain = [one for one in results if one.release == "tiny"]
    return plain, [one for one in results if one not in plain]


class Machine:
    """Draws starts with the recorded spread."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        plain, _ = recorded()
        self._workloads = {one.workload.digest: one.workload for one in plain if one.workload.name in ("single", "load@16")}
        starts = [
            [one for one in plain if one.measurement.start == start] for start in dict.fromkeys(one.measurement.start for one in plain)
        ]
        logs = [[self._logs(start, digest) for digest in self._workloads] for start in starts]
        rows = [[value for group in row for value in group] for row in logs]
        self._centre = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        self._deviations = [[value - centre for value, centre in zip(row, self._centre, strict=True)] for row in rows]

    @staticmethod
    def _logs(start: Sequence[StoredResult], digest: str) -> list[float]:
        (one,) = (one.measurement for one in start if one.workload.digest == digest)
        return [math.log(value) for metric in METRICS if (value := one.figure(metric))]

    def start(self, name: str, *, slower: float = 0.0, is_new: bool = False) -> list[StoredResult]:
        """One start: a normal draw with the recorded covariance, each figure worse by `slower`."""
        count = len(self._deviations)
        weights = [self._random.gauss(0, 1) / math.sqrt(count - 1) for _ in range(count)]
        values = [
            centre + sum(weight * row[number] for weight, row in zip(weights, self._deviations, strict=True))
            for number, centre in enumerate(self._centre)
        ]
        made = []
        for number, workload in enumerate(self._workloads.values()):
            logs = values[number * len(METRICS) : (number + 1) * len(METRICS)]
            figures: dict[str, Any] = {
                metric: math.exp(log - SLOW[metric] * math.log(1 - slower)) for metric, log in zip(METRICS, logs, strict=True)
            }
            setup = NEWER if is_new else SETUP
            made.append(result(1.0, start=name, workload=workload, setup=setup, release="new" if is_new else "old", **figures))
        return made

    def judge(self, regression: Regression, *, baseline_starts: int, slower: float) -> list[Comparison]:
        """The gate at work: a baseline, then starts of a candidate until it can tell or has made as many as it may."""
        old = [one for number in range(baseline_starts) for one in self.start(f"old-{number}")]
        new: list[StoredResult] = []
        told: list[Comparison] = []
        for number in range(regression.starts):
            new += self.start(f"new-{number}", slower=slower, is_new=True)
            told.append(compare(Side("old", old), Side("new", new), regression, looks=regression.starts))
            if told[-1].verdict != "cannot tell":
                break
        return told
