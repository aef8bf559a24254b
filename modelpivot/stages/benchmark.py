"""Benchmark: the recipe's workloads against the release that answers, while the switch is open and can still go back."""

from collections.abc import Sequence

from modelpivot.benchmark.run import run_workload
from modelpivot.models.benchmark import Measurement
from modelpivot.models.release import Release
from modelpivot.models.workload import Workload
from modelpivot.stages.context import Context
from modelpivot.stages.told import told


def measure(context: Context, release: Release, workloads: Sequence[Workload]) -> list[Measurement]:
    """One measurement a workload, valid or with its reasons; whether they are good enough is the gate's business. Nothing to do without workloads."""
    measurements: list[Measurement] = []
    with told(context.journal, "benchmark", f"{len(workloads)} workloads against {release.endpoint.base_url}") as (tell, ending):
        for done, workload in enumerate(workloads):
            tell("progress", workload.name, done=done, total=len(workloads), unit="workloads")
            measurements.append(run_workload(release, workload, context.run.root / "benchmark" / release.id, tell))
        said = "; ".join(say_measurement(measurement) for measurement in measurements)
        end = ending.finish if workloads else ending.nothing_to_do
        end(said or "the recipe names no workload", measurements=[measurement.model_dump(mode="json") for measurement in measurements])
    return measurements


def say_measurement(measurement: Measurement) -> str:
    """One line for a person; n is shown with every figure."""
    if measurement.output_tokens_per_s is None or measurement.median_ttft_ms is None:
        return f"{measurement.workload}: no figures, {'; '.join(measurement.invalid)}"
    return (
        f"{measurement.workload}: {measurement.output_tokens_per_s:.1f} tokens/s, first token after {measurement.median_ttft_ms:.0f} ms "
        f"({measurement.successes} of {measurement.requests} requests, {measurement.concurrency} at once)"
    )
