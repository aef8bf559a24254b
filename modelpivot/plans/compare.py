"""Two sets of results held against each other: what differs in the set-up first, then the figures with their noise. Pure.

A workload is compared with itself alone: what asks other lengths, prompts or concurrency is refused.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from modelpivot.models.benchmark import Measurement, Setup, StoredResult
from modelpivot.models.comparison import Change, Comparison, Difference, Verdict
from modelpivot.models.workload import Metric, Regression, Workload
from modelpivot.plans.noise import Noise, band, learn_noise

HIGHER_IS_BETTER: frozenset[Metric] = frozenset({"output_tokens_per_s", "requests_per_s"})
SAME_LENGTH = 0.01
"""Share by which the mean answer lengths of two results may differ, where the model ends its answers itself."""


@dataclass(frozen=True)
class Side:
    """One of the two: results of one set-up, or of one run."""

    title: str
    results: Sequence[StoredResult]

    def workloads(self) -> dict[str, Workload]:
        """What was measured, by digest."""
        return {result.workload.digest: result.workload for result in self.results}

    def of(self, digest: str) -> list[Measurement]:
        """The valid measurements of one workload."""
        return [one.measurement for one in self.results if one.workload.digest == digest and not one.measurement.invalid]


@dataclass(frozen=True)
class Known:
    """All results that noise is learned from: the two sides, and whatever else the history has of this host and these workloads."""

    results: Sequence[StoredResult] = field(default_factory=list)

    def noise(self, digest: str, metric: Metric) -> Noise | None:
        """Of one metric of one workload, over starts of the same set-up; None: it was never measured twice alike."""
        groups: dict[str, list[Measurement]] = {}
        for result in self.results:
            if result.workload.digest == digest and not result.measurement.invalid:
                groups.setdefault(result.setup_digest, []).append(result.measurement)
        return learn_noise([by_start(measured, metric) for measured in groups.values()])


def compare(baseline: Side, candidate: Side, regression: Regression, history: Sequence[StoredResult] = (), *, looks: int = 1) -> Comparison:
    """Everything that can be said. Workloads of one side alone, without valid figures or with answers of other lengths are refused by name.

    `looks`: how often it is asked at most, where starts are added until it can tell; each look has its own chance of a false alarm.
    """
    known = known_of(baseline, candidate, history)
    refused = refuse_workloads(baseline, candidate)
    common = [digest for digest in candidate.workloads() if digest in baseline.workloads() and digest not in refused]
    judged = [(digest, metric) for digest in common for metric in regression.metrics if _is_measured(baseline, candidate, digest, metric)]
    changes = [_change(baseline, candidate, digest, metric, known, regression, len(judged), looks) for digest, metric in judged]
    return Comparison(
        baseline=baseline.title,
        candidate=candidate.title,
        differences=find_differences(baseline.results, candidate.results),
        refused=list(refused.values()),
        changes=changes,
        verdict=join_verdicts([change.verdict for change in changes]),
    )


def known_of(baseline: Side, candidate: Side, history: Sequence[StoredResult]) -> Known:
    """The two sides, and what the history has of the hosts that they were measured on: another machine's noise says nothing of theirs."""
    sides = [*baseline.results, *candidate.results]
    hosts = {result.setup.host for result in sides}
    kin = [result for result in history if result.setup.host in hosts]
    return Known(list({result.id: result for result in [*sides, *kin]}.values()))


def refuse_workloads(baseline: Side, candidate: Side) -> dict[str, str]:
    """Digest to sentence: why a workload cannot be compared."""
    ours, theirs = candidate.workloads(), baseline.workloads()
    refused = {digest: _name_missing(ours[digest], theirs, "baseline") for digest in ours.keys() - theirs.keys()}
    refused |= {digest: _name_missing(theirs[digest], ours, "candidate") for digest in theirs.keys() - ours.keys()}
    for digest in ours.keys() & theirs.keys():
        if reason := _refuse_figures(theirs[digest].name, baseline.of(digest), candidate.of(digest)):
            refused[digest] = reason
    return refused


def _name_missing(workload: Workload, others: dict[str, Workload], side: str) -> str:
    namesake = next((other for other in others.values() if other.name == workload.name), None)
    if namesake is None:
        return f"{workload.name}: not measured on the side of the {side}"
    mine, theirs = workload.model_dump(exclude={"repeats"}), namesake.model_dump(exclude={"repeats"})
    differ = [f"{name} {theirs[name]} in the {side}, {mine[name]} here" for name in mine if mine[name] != theirs[name]]
    return f"{workload.name}: another workload under the same name: {'; '.join(differ)}"


def _refuse_figures(name: str, baseline: Sequence[Measurement], candidate: Sequence[Measurement]) -> str:
    for side, measured in (("baseline", baseline), ("candidate", candidate)):
        if not measured:
            return f"{name}: no valid figures on the side of the {side}"
    before, after = (sum(one.output_tokens for one in side) / sum(one.successes for one in side) for side in (baseline, candidate))
    if abs(after - before) > SAME_LENGTH * before:
        return f"{name}: answers of another length: {before:.1f} tokens in the baseline, {after:.1f} in the candidate"
    return ""


def find_differences(baseline: Sequence[StoredResult], candidate: Sequence[StoredResult]) -> list[Difference]:
    """Every field of the set-up that is not alike on both sides."""
    before, after = _fields(baseline), _fields(candidate)
    return [
        Difference(field=name, baseline=before[name], candidate=after[name])
        for name in Setup.model_fields
        if before.get(name, "") != after.get(name, "")
    ]


def _fields(results: Sequence[StoredResult]) -> dict[str, str]:
    """Each field with all values that it has on this side."""
    found: dict[str, list[str]] = {}
    for result in results:
        for name, value in result.setup.model_dump(mode="json").items():
            found.setdefault(name, []).append(_say(value))
    return {name: " or ".join(dict.fromkeys(values)) for name, values in found.items()}


def _say(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, list):
        return " ".join(item["pointer"] if isinstance(item, dict) and "pointer" in item else str(item) for item in value)
    return str(value)


def by_start(measured: Sequence[Measurement], metric: Metric) -> list[float]:
    """One figure a start: the median of what was measured in it."""
    starts: dict[str, list[float]] = {}
    for measurement in measured:
        value = measurement.figure(metric)
        if value is not None and value > 0:
            starts.setdefault(measurement.start, []).append(value)
    return [median(values) for values in starts.values()]


def _is_measured(baseline: Side, candidate: Side, digest: str, metric: Metric) -> bool:
    return all(by_start(side.of(digest), metric) for side in (baseline, candidate))


def _change(
    baseline: Side, candidate: Side, digest: str, metric: Metric, known: Known, regression: Regression, comparisons: int, looks: int
) -> Change:
    before, after = by_start(baseline.of(digest), metric), by_start(candidate.of(digest), metric)
    noise, allowed = known.noise(digest, metric), regression.allowed(metric)
    gain = math.log(median(after) / median(before)) * (1 if metric in HIGHER_IS_BETTER else -1)
    width, alarm = (
        band(noise, len(before), len(after), comparisons=count) if noise else None for count in (comparisons, comparisons * looks)
    )
    return Change(
        workload=candidate.workloads()[digest].name,
        metric=metric,
        baseline=median(before),
        candidate=median(after),
        change=math.expm1(gain),
        band=None if width is None else -math.expm1(-width),
        threshold=allowed,
        verdict=judge_change(gain, -math.log1p(-allowed), width, alarm),
        baseline_starts=len(before),
        candidate_starts=len(after),
    )


def judge_change(gain: float, allowed: float, width: float | None, alarm: float | None = None) -> Verdict:
    """All in logarithms. A change counts when it is larger than both the threshold and the noise; a band wider than the threshold hides changes
    that matter, so that nothing seen is no proof that nothing is there. `alarm` is the band of who looks more than once."""
    if width is None:
        return "cannot tell"
    if abs(gain) > max(allowed, alarm or width):
        return "improved" if gain > 0 else "regressed"
    is_clear = width <= allowed or width - gain <= allowed
    return "passed" if is_clear else "cannot tell"


def join_verdicts(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The one that counts: any regression, then any doubt, then any improvement. None of none."""
    order: tuple[Verdict, ...] = ("regressed", "cannot tell", "improved", "passed")
    return next((verdict for verdict in order if verdict in verdicts), None)
