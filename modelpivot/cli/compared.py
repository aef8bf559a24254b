"""Results and comparisons as a person reads them in a terminal."""

import time
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from modelpivot.cli.output import table
from modelpivot.models.benchmark import StoredResult
from modelpivot.models.comparison import Comparison, Verdict
from modelpivot.models.workload import Metric

COLOURS: dict[Verdict | None, str] = {"passed": "green", "improved": "green", "regressed": "red", "cannot tell": "yellow", None: ""}

SHORT: dict[Metric, str] = {
    "output_tokens_per_s": "tok/s",
    "requests_per_s": "requests/s",
    "median_ttft_ms": "TTFT ms",
    "median_tpot_ms": "TPOT ms",
    "p99_ttft_ms": "p99 TTFT ms",
    "p99_tpot_ms": "p99 TPOT ms",
}
"""TTFT: time to the first token; TPOT: time for each one after it."""


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Differences of the set-up first, then what cannot be compared, then the figures."""
    console.print(Text(f"{comparison.baseline} -> {comparison.candidate}", "bold"))
    if comparison.differences:
        rows = table("set-up", "baseline", "candidate")
        for difference in comparison.differences:
            rows.add_row(difference.field, difference.baseline[:60], difference.candidate[:60])
        console.print(rows)
    else:
        console.print("The set-ups are alike.")
    for reason in comparison.refused:
        console.print(Text(f"not compared: {reason}", "yellow"))
    _show_changes(console, comparison)


def _show_changes(console: Console, comparison: Comparison) -> None:
    if not comparison.changes:
        return
    rows = table("workload", "metric", "baseline", "now", "better", "noise", "starts", "verdict")
    for change in comparison.changes:
        rows.add_row(
            change.workload,
            SHORT[change.metric],
            f"{change.baseline:.4g}",
            f"{change.candidate:.4g}",
            f"{change.change:+.1%}",
            "?" if change.band is None else f"{change.band:.1%}",
            f"{change.baseline_starts}/{change.candidate_starts}",
            Text(change.verdict, COLOURS[change.verdict]),
        )
    console.print(rows)
    console.print(Text(f"all together: {comparison.verdict}", f"bold {COLOURS[comparison.verdict]}"))


def show_results(console: Console, results: Sequence[StoredResult]) -> None:
    """One line a result, newest first."""
    rows = table("when", "release", "engine", "workload", "tok/s", "TTFT ms", "TPOT ms", "standing")
    for result in results:
        one = result.measurement
        figures = [
            f"{value:.1f}" if value is not None else "-" for value in (one.output_tokens_per_s, one.median_ttft_ms, one.median_tpot_ms)
        ]
        when = time.strftime("%y-%m-%d %H:%M", time.localtime(one.at))
        standing = "void" if one.invalid else result.standing
        rows.add_row(when, result.release, result.setup.engine_version, one.workload, *figures, standing)
    console.print(rows)
