"""Results and comparisons as a person reads them in a terminal."""

import time
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from modelpivot.cli.show import table
from modelpivot.models.benchmark import StoredResult
from modelpivot.models.comparison import Comparison, Verdict

COLOURS: dict[Verdict | None, str] = {"passed": "green", "improved": "green", "regressed": "red", "cannot tell": "yellow", None: ""}


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
    rows = table("workload", "metric", "baseline", "candidate", "better by", "noise", "starts", "verdict")
    for change in comparison.changes:
        rows.add_row(
            change.workload,
            change.metric,
            f"{change.baseline:.5g}",
            f"{change.candidate:.5g}",
            f"{change.change:+.1%}",
            "?" if change.band is None else f"{change.band:.1%}",
            f"{change.baseline_starts}, {change.candidate_starts}",
            Text(change.verdict, COLOURS[change.verdict]),
        )
    console.print(rows)
    console.print(Text(f"all together: {comparison.verdict}", f"bold {COLOURS[comparison.verdict]}"))


def show_results(console: Console, results: Sequence[StoredResult]) -> None:
    """One line a result, newest first."""
    rows = table("when", "run", "release", "engine", "workload", "tokens/s", "first token, ms", "per token, ms", "standing")
    for result in results:
        one = result.measurement
        figures = [
            f"{value:.1f}" if value is not None else "-" for value in (one.output_tokens_per_s, one.median_ttft_ms, one.median_tpot_ms)
        ]
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.at))
        standing = "not valid" if one.invalid else result.standing
        rows.add_row(when, result.run_id, result.release, result.setup.engine_version, one.workload, *figures, standing)
    console.print(rows)
