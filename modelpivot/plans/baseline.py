"""What a result is held against: the newest accepted set-up of the same host, model and workload. Pure."""

from collections.abc import Sequence

from modelpivot.models.benchmark import Setup, StoredResult

MOST_STARTS = 20
"""Starts of the baseline that count, the newest."""


def choose_baseline(history: Sequence[StoredResult], setup: Setup, run_id: str) -> list[StoredResult]:
    """Accepted results with figures, of one set-up for each workload, the newest first; empty: the first pivot to this model on this machine.

    The same machine: same name, same GPUs, same processors. What this run measured itself is no baseline.
    """
    fit = [result for result in history if result.run_id != run_id and is_baseline(result) and is_same_machine(result.setup, setup)]
    newest = sorted((result for result in fit if result.setup.repo == setup.repo), key=lambda result: result.measurement.at, reverse=True)
    chosen: list[StoredResult] = []
    for digest in dict.fromkeys(result.workload.digest for result in newest):
        of_workload = [result for result in newest if result.workload.digest == digest]
        of_setup = [result for result in of_workload if result.setup_digest == of_workload[0].setup_digest]
        starts = list(dict.fromkeys(result.measurement.start for result in of_setup))[:MOST_STARTS]
        chosen += [result for result in of_setup if result.measurement.start in starts]
    return chosen


def is_baseline(result: StoredResult) -> bool:
    """Whether it may be one at all: it was good enough to serve, and has figures."""
    return result.standing == "accepted" and not result.measurement.invalid


def is_same_machine(one: Setup, other: Setup) -> bool:
    """Same name and hardware; driver and kernel may differ, and are told as differences."""
    return (one.host, one.gpus, one.cpus) == (other.host, other.gpus, other.cpus)
