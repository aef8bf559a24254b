"""The report with pictures: of one run, or of the whole history. Drawn from what lies on disk and in the history; nothing waits for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from modelpivot.benchmark.images import Image, draw_images
from modelpivot.benchmark.keep import look_back
from modelpivot.benchmark.pictures import Group, LoadCurve, LoadPoint, Page, Span, Trend, render_page, say_time
from modelpivot.errors import PivotError
from modelpivot.files import write_atomic, write_named
from modelpivot.models.benchmark import StoredResult
from modelpivot.models.comparison import Comparison
from modelpivot.models.counted import counted
from modelpivot.models.event import Event
from modelpivot.models.result import RunResult
from modelpivot.models.workload import Metric
from modelpivot.plans.compare import Known, by_start
from modelpivot.plans.gate import METRIC_WORDS, say_change
from modelpivot.plans.noise import band
from modelpivot.stages.report import UNTIMED, report
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import read_events

SHOWN: tuple[Metric, ...] = ("output_tokens_per_s", "median_ttft_ms")
UNITS: dict[Metric, str] = {"output_tokens_per_s": "output tokens per second", "median_ttft_ms": "milliseconds"}
MOST_GROUPS = 10
MOST_CURVES = 4


@dataclass(frozen=True)
class Drawn:
    """The pictures of a run: a page on the host, and the same as images that can be shown anywhere."""

    page: Path
    images: Sequence[Image]


def draw_run(state: StatePaths, run_id: str) -> Drawn:
    """The run's `report.html`: its time line, what it measured, and the history of the same host and model."""
    page = make_page(state, run_id)
    write_atomic(state.run(run_id).pictures, render_page(page))
    return Drawn(state.run(run_id).pictures, draw_images(page))


def make_page(state: StatePaths, run_id: str) -> Page:
    """All that its report shows."""
    result, (events, _) = report(state, run_id), read_events(state.run(run_id))
    known, _ = look_back(state)
    mine = [one for one in known if one.run_id == run_id]
    kin = [one for one in known if mine and one.setup.host == mine[0].setup.host and one.model == mine[0].model]
    return Page(
        title=f"{result.outcome.replace('_', ' ').capitalize()}: {run_id}",
        lead=result.message,
        facts=_facts(result, mine),
        spans=find_spans(events),
        curves=find_curves(kin),
        trends=find_trends(kin, [one.workload.digest for one in mine]),
        tables=[*_measured(mine), *_compared(find_comparison(events)), *_checked(result)],
    )


def try_draw_run(state: StatePaths, run_id: str) -> Drawn | None:
    """The same where a picture must not be what a run fails of; None: there is none."""
    try:
        return draw_run(state, run_id)
    except (PivotError, OSError):
        return None


def draw_history(results: Sequence[StoredResult], path: Path) -> None:
    """Everything that was ever measured, model by model."""
    models = dict.fromkeys((one.setup.host, one.model) for one in results)
    of_model = [[one for one in results if (one.setup.host, one.model) == model] for model in models]
    page = Page(
        title="Benchmark history",
        lead=f"{counted(len(results), 'result')} of {', '.join(sorted({one.setup.repo for one in results})) or 'nothing yet'}",
        curves=[curve for kin in of_model for curve in find_curves(kin)],
        trends=[trend for kin in of_model for trend in find_trends(kin, [one.workload.digest for one in kin], is_titled=len(models) > 1)],
        tables=_measured(results),
    )
    write_named(path, render_page(page))


def find_spans(events: Sequence[Event]) -> list[Span]:
    """Every stage and step with its beginning and end; a stage that was tried again has a span a try."""
    origin = events[0].at if events else 0.0
    opened: dict[tuple[str, str], float] = {}
    spans: list[Span] = []
    for event in events:
        key = (event.stage, str(event.data.get("release")))
        if event.stage in UNTIMED:
            continue
        if event.kind == "started":
            opened[key] = event.at
        elif event.kind in ("finished", "failed", "nothing_to_do") and key in opened:
            result = "done" if event.kind == "finished" else event.kind
            spans.append(Span(event.stage, opened.pop(key) - origin, event.at - origin, result))
    last = events[-1].at - origin if events else 0.0
    spans += [Span(stage, began - origin, last, "running") for (stage, _), began in opened.items()]
    return sorted(spans, key=lambda span: span.begin_s)


def find_curves(results: Sequence[StoredResult]) -> list[LoadCurve]:
    """One curve for each version and length of requests, the newest few: medians over all that was measured at each concurrency.

    One point is no curve.
    """
    curves: dict[tuple[str, str], dict[int, list[StoredResult]]] = {}
    for one in valid(results):
        curves.setdefault((name_version(one), say_lengths(one)), {}).setdefault(one.workload.concurrency, []).append(one)
    made = [
        LoadCurve(f"{version}, {lengths}", [_load_point(streams, of) for streams, of in points.items()])
        for (version, lengths), points in curves.items()
        if len(points) > 1
    ]
    return made[:MOST_CURVES]


def say_lengths(result: StoredResult) -> str:
    """`512 in, 128 out`."""
    prefix = f"{result.workload.prefix_tokens} shared and " if result.workload.prefix_tokens else ""
    return f"{prefix}{result.workload.input_tokens} in, {result.workload.output_tokens} out"


def _load_point(concurrency: int, results: Sequence[StoredResult]) -> LoadPoint:
    speeds, times = (
        [value for one in results if (value := one.measurement.figure(metric))] for metric in ("output_tokens_per_s", "median_tpot_ms")
    )
    return LoadPoint(concurrency, median(speeds), median(times))


def find_trends(results: Sequence[StoredResult], digests: Iterable[str], *, is_titled: bool = False) -> list[Trend]:
    """What is shown of each workload over versions, oldest first; one start of one version is no trend."""
    usable = valid(results)
    trends = []
    for digest in dict.fromkeys(digests):
        of_workload = [one for one in reversed(usable) if one.workload.digest == digest]
        for metric in SHOWN:
            groups = _groups(of_workload, digest, metric)
            if sum(len(group.values) for group in groups) > 1:
                title = f"{of_workload[0].workload.name}: {METRIC_WORDS[metric]}"
                trends.append(Trend(f"{of_workload[0].model}, {title}" if is_titled else title, UNITS[metric], groups[-MOST_GROUPS:]))
    return trends


def _groups(results: Sequence[StoredResult], digest: str, metric: Metric) -> list[Group]:
    noise = Known(results).noise(digest, metric)
    setups: dict[tuple[str, bool], list[StoredResult]] = {}
    for one in results:
        setups.setdefault((one.setup_digest, one.standing != "refused"), []).append(one)
    groups = []
    for (_, is_accepted), of_setup in setups.items():
        if values := by_start([one.measurement for one in of_setup], metric):
            width = band(noise, len(values), len(values)) if noise else None
            name = name_version(of_setup[0]) + ("" if is_accepted else ", refused")
            groups.append(Group(name, values, median(values), None if width is None else min(width, 1.0), is_accepted))
    return groups


def valid(results: Sequence[StoredResult]) -> list[StoredResult]:
    """Those with figures."""
    return [
        one for one in results if not one.measurement.invalid and one.measurement.output_tokens_per_s and one.measurement.median_tpot_ms
    ]


def name_version(result: StoredResult) -> str:
    """Short name of a set-up for a picture."""
    return f"{result.setup.engine_version} {result.setup.commit[:7]}"


def find_comparison(events: Sequence[Event]) -> Comparison | None:
    """What the gate found against the baseline; None: there was none."""
    found = next((event.data["comparison"] for event in reversed(events) if event.data.get("comparison")), None)
    return Comparison.model_validate(found) if found else None


def _facts(result: RunResult, mine: Sequence[StoredResult]) -> list[tuple[str, str]]:
    facts = [("answers now", result.released or "nothing"), ("address", result.base_url or "-"), ("before", result.previous or "-")]
    if result.downtime_s is not None:
        facts += [("downtime", say_time(result.downtime_s)), ("lost requests", str(result.lost_requests))]
    if mine and mine[0].load_s is not None:
        facts.append(("load", say_time(mine[0].load_s)))
    return facts


def _measured(results: Sequence[StoredResult]) -> list[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    columns = (
        "workload",
        "version",
        "answered",
        "tokens/s",
        "first token, ms",
        "per token, ms",
        "KV cache",
        "queue",
        "power, W",
        "remarks",
    )
    rows = [_row(one) for one in results]
    return [("Measured", columns, rows)] if rows else []


def _row(result: StoredResult) -> list[str]:
    one, load = result.measurement, result.measurement.server
    powers = [gpu.mean_power_w for gpu in one.gpus if gpu.mean_power_w is not None]
    return [
        one.workload,
        name_version(result),
        f"{one.successes} of {one.requests}",
        *(_figure(value) for value in (one.output_tokens_per_s, one.median_ttft_ms, one.median_tpot_ms)),
        "-" if load is None or load.peak_kv_use is None else f"{load.peak_kv_use:.1%}",
        _figure(load.peak_waiting if load else None),
        _figure(sum(powers) if powers else None),
        "; ".join([*one.invalid, *one.warnings, *(["refused"] if result.standing == "refused" else [])]),
    ]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _compared(comparison: Comparison | None) -> list[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    if comparison is None:
        return []
    differences = [[one.field, one.baseline, one.candidate] for one in comparison.differences]
    changes = [[one.workload, METRIC_WORDS[one.metric], f"{one.baseline:.5g}", say_change(one)] for one in comparison.changes]
    return [
        ("What differs in the set-up", ("field", "baseline", "candidate"), differences),
        (f"Against {comparison.baseline}", ("workload", "metric", "baseline", "now"), changes),
        ("Not compared", ("why",), [[reason] for reason in comparison.refused]),
    ]


def _checked(result: RunResult) -> list[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    rows = [[check.name, "yes" if check.passed else "no", check.expected, check.found] for check in result.checks]
    return [("Checks", ("check", "passed", "expected", "found"), rows)]
