"""history: past runs, results and upgrade tests of this host, as a list, as a file or as pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from modelpivot.cli.output import AsJson, answer, console, in_time, log_console
from modelpivot.models.benchmark import StoredResult
from modelpivot.models.frozen import Frozen
from modelpivot.models.result import RunResult
from modelpivot.models.upgrade import UpgradeResult

if TYPE_CHECKING:
    from modelpivot.state.paths import RunPaths, StatePaths


def add_to(app: typer.Typer) -> None:
    """Mount the command."""
    app.command()(history)


class Past(Frozen):
    """Past runs and results, newest first."""

    runs: list[RunResult] = Field(default_factory=list)
    results: list[StoredResult] = Field(default_factory=list)
    upgrades: list[UpgradeResult] = Field(default_factory=list)


def history(
    limit: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
    has_results: Annotated[bool, typer.Option("--results", help="Benchmark results instead of runs.")] = False,
    has_upgrades: Annotated[bool, typer.Option("--upgrades", help="Upgrade tests: which engine version, when, with what verdict.")] = False,
    export_to: Annotated[Path | None, typer.Option("--export", help="Write all results to this file: .csv or .parquet.")] = None,
    pictures: Annotated[Path | None, typer.Option("--pictures", help="Draw all results into this HTML file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Past runs of this host, newest first; or its benchmark results."""
    if export_to or pictures:
        _write_results(export_to, pictures, as_json=as_json)
    elif has_upgrades:
        _list_upgrades(limit, as_json=as_json)
    elif has_results:
        _list_results(limit, as_json=as_json)
    else:
        _list_runs(limit, as_json=as_json)


class WrittenResults(Frozen):
    """What was written of the history."""

    results: int
    files: list[Path]


def _write_results(export_to: Path | None, pictures: Path | None, *, as_json: bool) -> None:
    from modelpivot.benchmark.export import export
    from modelpivot.stages.pictures import draw_history

    known = look_back()
    if export_to:
        export(known, export_to)
    if pictures:
        draw_history(known, pictures)
    written = WrittenResults(results=len(known), files=[path for path in (export_to, pictures) if path])
    if as_json:
        answer(written)
    else:
        log_console().print(f"{written.results} results in {' and '.join(map(str, written.files))}")


def _list_results(limit: int, *, as_json: bool) -> None:
    from modelpivot.cli.compared import show_results

    known = look_back()[:limit]
    answer(Past(results=known)) if as_json else show_results(console(), known)


def _list_upgrades(limit: int, *, as_json: bool) -> None:
    from modelpivot.cli.show import upgrades_table
    from modelpivot.settings import read_host_config
    from modelpivot.stages.upgrade import read_upgrades
    from modelpivot.state.paths import StatePaths

    tested = read_upgrades(StatePaths(read_host_config().state_dir))[:limit]
    answer(Past(upgrades=tested)) if as_json else console().print(upgrades_table(tested))


def _list_runs(limit: int, *, as_json: bool) -> None:
    from modelpivot.cli.output import table
    from modelpivot.settings import read_host_config
    from modelpivot.state.paths import StatePaths
    from modelpivot.state.runs import list_runs

    state = StatePaths(read_host_config().state_dir)
    past = [found for run in list_runs(state)[:limit] if (found := _read_past(state, run))]
    if as_json:
        answer(Past(runs=past))
        return
    rows = table("run", "outcome", "served after it", "downtime", "tokens/s")
    for run in past:
        speed = ", ".join(f"{one.output_tokens_per_s:.1f}" for one in run.benchmark if one.output_tokens_per_s is not None)
        downtime = in_time(run.downtime_s) if run.downtime_s is not None else "-"
        rows.add_row(run.run_id, run.outcome, run.released or "-", downtime, speed or "-")
    console().print(rows)


def _read_past(state: "StatePaths", run: "RunPaths") -> RunResult | None:
    """The result that the run wrote, else one made of its journal; None, and a word why, where its files are damaged: the others are shown."""
    from modelpivot.errors import PivotError
    from modelpivot.files import read_model
    from modelpivot.stages.report import report

    try:
        return read_model(run.result, RunResult) or report(state, run.id)
    except PivotError as error:
        log_console().print(f"{run.id}: passed over: {error.message}", style="yellow")
        return None


def look_back() -> list[StoredResult]:
    """All results, newest first; told where some cannot be had. TransientError when the database is away and nothing waits in the state."""
    from modelpivot.benchmark import keep
    from modelpivot.errors import TransientError
    from modelpivot.settings import read_database_url, read_host_config
    from modelpivot.state.paths import StatePaths

    read_database_url()
    known, problem = keep.look_back(StatePaths(read_host_config().state_dir), has_all=True)
    if problem and not known:
        raise TransientError(problem, hint="look at the database, or at MODELPIVOT_DATABASE_URL (unset: SQLite in the state)")
    if problem:
        log_console().print(problem, style="yellow")
    return known
