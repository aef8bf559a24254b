"""Verdicts and results as a person reads them in a terminal."""

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from modelpivot.cli.output import in_time, table
from modelpivot.models.result import RunResult
from modelpivot.stages.benchmark import say_measurement

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
                f"Downtime {in_time(result.downtime_s)}, {result.lost_requests} requests lost (counted by a client that asks all the time)"
            )
        )
    parts += [Text(say_measurement(one), "red" if one.invalid else "") for one in result.benchmark]
    passed = sum(check.passed for check in result.checks)
    parts.append(Text(f"Checks: {passed} of {len(result.checks)} passed"))
    parts += [Text(f"  ✗ {check}", "red") for check in result.checks if not check.passed]
    parts += [Text(f"Patched: {file.file}  {file.before[:12]} -> {file.after[:12]}") for file in result.patched]
    parts += [Text(f"  {line}", "dim") for line in result.cause[-10:]]
    return parts


def _headline(result: RunResult) -> Text:
    good = result.exit_code == 0
    words = Text(f"{'✓' if good else '✗'} {result.outcome}", "bold green" if good else "bold red")
    words.append(f"  {result.message}" if result.message else "", "default")
    if result.attempted:
        words.append(f"\nattempted: {result.attempted}", "default")
    return words
