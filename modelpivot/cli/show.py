"""Verdicts and results as a person reads them in a terminal."""

import time
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from modelpivot.cli.output import in_time, table
from modelpivot.models.counted import counted
from modelpivot.models.result import RunResult
from modelpivot.models.upgrade import UpgradeResult
from modelpivot.stages.benchmark import say_measurement

MOST_CHANGES = 8
RESULT_MARKS = {
    "done": Text("done", "green"),
    "nothing_to_do": Text("nothing to do", "green"),
    "failed": Text("failed", "red"),
    "running": Text("open", "yellow"),
}


def show_result(console: Console, result: RunResult, *, title: str, footer: list[str] | None = None) -> None:
    """The report of a run. Addresses stand outside the frame, whole, so that a terminal can open them."""
    console.print(Panel(Group(*_result_parts(result)), title=title, expand=False), soft_wrap=False)
    for line in [*_addresses(result), *(footer or [])]:
        console.print(line)


def _addresses(result: RunResult) -> list[str]:
    lines = [f"{result.released} answers at {result.base_url}"] if result.base_url else []
    return [*lines, *([f"In Prefect: {result.flow_run_url}"] if result.flow_run_url else [])]


def _result_parts(result: RunResult) -> list[RenderableType]:
    parts: list[RenderableType] = [_headline(result), Text("")]
    stages = table("stage", "time", "result")
    for stage in result.stages:
        stages.add_row(stage.name, in_time(stage.seconds), RESULT_MARKS[stage.result])
    parts += [stages, Text("")]
    if result.downtime_s is not None:
        parts.append(
            Text(
                f"Downtime {in_time(result.downtime_s)}, {counted(result.lost_requests or 0, 'request')} lost (counted by a client that asks all the time)"
            )
        )
    parts += _upgrade_parts(result.upgrade) if result.upgrade else []
    parts += [Text(say_measurement(one), "red" if one.invalid else "") for one in result.benchmark]
    passed = sum(check.passed for check in result.checks)
    parts.append(Text(f"Checks: {passed} of {len(result.checks)} passed"))
    parts += [Text(f"  ✗ {check}", "red") for check in result.checks if not check.passed]
    parts += [Text(f"Patched: {file.file}  {file.before[:12]} -> {file.after[:12]}") for file in result.patched]
    parts += [Text(f"  {line}", "dim") for line in result.cause[-10:]]
    return parts


def upgrades_table(tested: Sequence[UpgradeResult]) -> Table:
    """Upgrade tests, one a line."""
    rows = table("when", "engine", "against", "model", "verdict", "figures")
    for one in tested:
        changes = one.comparison.changes if one.comparison else []
        moved = ", ".join(f"{change.workload} {change.change:+.1%}" for change in changes if change.metric == "output_tokens_per_s")
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(one.at))
        rows.add_row(
            when, one.candidate_version or "-", one.current_version, one.model or one.recipe, one.verdict.replace("_", " "), moved or "-"
        )
    return rows


def _upgrade_parts(upgrade: UpgradeResult) -> list[RenderableType]:
    """What an upgrade test tried, and what a person does now."""
    parts = [
        Text(
            f"{upgrade.model}, engine {upgrade.candidate_version or 'none'} against {upgrade.current_version}, {counted(upgrade.starts, 'start')} measured"
        )
    ]
    move = counted(len(upgrade.changes), "package moves", "packages move")
    parts += [Text(f"{move} with it: {', '.join(str(one) for one in upgrade.changes[:MOST_CHANGES])}")]
    parts += [Text(f"without {one.what}: {one.found}", "red" if one.is_needed else "green") for one in upgrade.relaxed]
    return [*parts, *([Text(f"next: {upgrade.next_move}", "bold")] if upgrade.next_move else [])]


def _headline(result: RunResult) -> Text:
    good = result.exit_code == 0 or result.outcome == "rolled_back"
    words = Text(f"{'✓' if good else '✗'} {result.outcome}", "bold green" if good else "bold red")
    words.append(f"  {result.message}" if result.message else "", "default")
    if result.attempted:
        words.append(f"\nattempted: {result.attempted}", "default")
    return words
