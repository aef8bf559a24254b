"""How fast things went on this host, from the journals of its last runs: what a plan estimates from. Empty on a host that never ran anything.

SeenRates(download_bytes_per_s=412000000.0, install_s=95.2, switch_s=431.0, benchmark_s=122.5, runs=4)
"""

from collections.abc import Sequence
from statistics import median
from typing import Any

from modelpivot.errors import PivotError
from modelpivot.models.event import Event
from modelpivot.models.host_parts import SeenRates
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import list_runs, read_events

LOOKED_AT = 20
"""Runs, the newest first: an old one says little of today's network."""
SMALL_BYTES = 10_000_000
"""Less than this says nothing of a rate."""


def read_rates(state: StatePaths) -> SeenRates:
    """Medians over the last runs of each kind."""
    seen: dict[str, list[float]] = {}
    runs = 0
    for run in list_runs(state)[:LOOKED_AT]:
        try:
            events, _ = read_events(run)
        except (PivotError, OSError):
            continue
        runs += 1
        for name, value in rates_of(events):
            seen.setdefault(name, []).append(value)
    return SeenRates(runs=runs, **{name: median(values) for name, values in seen.items()})


def rates_of(events: Sequence[Event]) -> list[tuple[str, float]]:
    """What one journal tells, by the fields of SeenRates."""
    found: list[tuple[str, float]] = []
    for event in events:
        if event.kind != "finished":
            continue
        seconds, fetched = _number(event.data.get("seconds")), _number(event.data.get("fetched_bytes"))
        if event.stage == "download" and seconds and fetched and fetched > SMALL_BYTES:
            found.append(("download_bytes_per_s", fetched / seconds))
        elif event.stage in ("install", "benchmark") and seconds and event.data.get("new") is not False:
            found.append((f"{event.stage}_s", seconds))
    return found + _switch_time(events)


def _switch_time(events: Sequence[Event]) -> list[tuple[str, float]]:
    """From the stop of the old engine to the end of the probe of one run that went through."""
    stops = [event.at for event in events if event.stage == "stop old" and event.kind == "started"]
    probes = [event.at for event in events if event.stage == "probe" and event.kind == "finished"]
    return [("switch_s", probes[0] - stops[0])] if stops and probes and probes[0] > stops[0] else []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
