"""Benchmark: workloads against the release that answers; in a pivot while the switch is open and can still go back. Every result is kept."""

import uuid
from collections.abc import Iterator, Mapping, Sequence

from modelpivot.benchmark.keep import keep, look_back
from modelpivot.benchmark.run import run_workload
from modelpivot.benchmark.setup import digest_setup, read_setup
from modelpivot.models.benchmark import Measurement, Setup, Standing, StoredResult
from modelpivot.models.counted import counted
from modelpivot.models.cutover import Cutover
from modelpivot.models.release import Release
from modelpivot.models.workload import Workload
from modelpivot.stages.context import Context
from modelpivot.stages.told import told
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.runs import Journal
from modelpivot.supervisors.choose import choose_supervisor


def measure(
    context: Context,
    release: Release,
    workloads: Sequence[Workload],
    *,
    recipe_digest: str = "",
    standing: Standing = "measured",
    started_by: Cutover | None = None,
) -> list[Measurement]:
    """Every workload, sweeps taken apart, as often as it says; valid or with its reasons. Whether they are good enough is the gate's business.

    `started_by`: the closed switch that brought this start up; left out, the open one, if it is to this release. Nothing to do without workloads.
    """
    measurements: list[Measurement] = []
    with told(context.journal, "benchmark", f"{counted(len(workloads), 'workload')} against {release.endpoint.base_url}") as (tell, ending):
        if not workloads:
            ending.nothing_to_do("the recipe names no workload", measurements=[])
            return []
        measurements += _measure_all(context, release, workloads, tell)
        kept = {"recipe_digest": recipe_digest, "standing": standing, **switch_figures(started_by or read_cutover(context.state), release)}
        _keep_all(context, release, workloads, measurements, kept, tell)
        said = "; ".join(say_measurement(measurement) for measurement in measurements)
        ending.finish(said, measurements=[measurement.model_dump(mode="json") for measurement in measurements])
    return measurements


def say_measurement(measurement: Measurement) -> str:
    """One line for a person; n is shown with every figure."""
    if measurement.output_tokens_per_s is None or measurement.median_ttft_ms is None:
        return f"{measurement.workload}: no figures, {'; '.join(measurement.invalid)}"
    return (
        f"{measurement.workload}: {measurement.output_tokens_per_s:.1f} tokens/s, first token after {measurement.median_ttft_ms:.0f} ms "
        f"({measurement.successes} of {measurement.requests} requests, {measurement.concurrency} at once)"
    )


def name_start(context: Context, release: Release) -> str:
    """Which start of the engine answers: its main process; for one that is not under our supervisor, this run."""
    main = choose_supervisor(context.host, context.state).status(release).main
    return f"{main.pid}.{main.start_time}.{main.boot_id[:8]}" if main else f"run {context.run.id}"


def _measure_all(context: Context, release: Release, workloads: Sequence[Workload], tell: Journal) -> Iterator[Measurement]:
    points = [point for workload in workloads for point in workload.points()]
    total, done, start = sum(point.repeats for point in points), 0, name_start(context, release)
    before = _count_before(context, points, start, tell)
    out = context.run.benchmark / release.id / start.replace(" ", "-")
    asked = context.state.asked(release.endpoint.port)
    for point in points:
        for _ in range(point.repeats):
            tell("progress", point.name, done=done, total=total, unit="measurements")
            number = before[point.digest] = before.get(point.digest, 0) + 1
            yield run_workload(release, point, out, tell, number=number, asked=asked, start=start)
            done += 1


def _count_before(context: Context, points: Sequence[Workload], start: str, tell: Journal) -> dict[str, int]:
    """How often this start of the engine was measured with each workload already: it remembers those prompts."""
    history, problem = look_back(context.state, workloads=[point.digest for point in points])
    if problem:
        tell("warning", problem)
    counts: dict[str, int] = {}
    for result in history:
        if result.measurement.start == start:
            counts[result.workload.digest] = counts.get(result.workload.digest, 0) + 1
    return counts


def _keep_all(
    context: Context,
    release: Release,
    workloads: Sequence[Workload],
    measurements: Sequence[Measurement],
    kept: Mapping[str, object],
    tell: Journal,
) -> None:
    setup, points = read_setup(context.host, release), {point.name: point for workload in workloads for point in workload.points()}
    results = [_result(context, release, setup, points[one.workload], one).model_copy(update=kept) for one in measurements]
    if problem := keep(context.state, results):
        tell("warning", f"{problem}; the results wait in {context.state.unstored}")


def _result(context: Context, release: Release, setup: Setup, workload: Workload, measurement: Measurement) -> StoredResult:
    return StoredResult(
        id=uuid.uuid4().hex,
        run_id=context.run.id,
        release=release.id,
        recipe=release.name,
        setup=setup,
        setup_digest=digest_setup(setup),
        workload=workload,
        measurement=measurement,
    )


def switch_figures(cutover: Cutover | None, release: Release) -> dict[str, float | None]:
    """Load time and downtime of the switch that brought the release up; nothing without one."""
    if cutover is None or cutover.to_release != release.id:
        return {}
    steps = [step.seconds for step in cutover.steps if step.release == release.id and step.name in ("serve", "ready")]
    return {"load_s": sum(steps) if steps else None, "downtime_s": cutover.lost.downtime_s}
