"""bench, compare: measure what serves, hold results against each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console, log_console
from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.comparison import Comparison
from modelpivot.models.counted import counted
from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.models.result import ExitCode
from modelpivot.stages.context import Context

if TYPE_CHECKING:
    from modelpivot.state.paths import StatePaths


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    for command in (bench, compare):
        app.command()(command)


class Bench(Frozen):
    """What was measured of what serves."""

    run_id: str
    release: str
    measurements: list[Measurement]
    checks: list[Check]
    comparison: Comparison | None
    """Against the baseline of the same model on this host; None: there is none."""
    pictures: Path


def bench(
    recipe: Annotated[str | None, typer.Argument(help="Recipe whose workloads are measured; left out, the one that serves.")] = None,
    starts: Annotated[int, typer.Option(min=1, help="Starts of the engine to measure in; each after the first is a downtime.")] = 1,
    until_told: Annotated[bool, typer.Option("--until-told", help="Stop earlier, once the comparison can tell.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="The engine may be stopped and started again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure what serves now. Exit 1 when a floor is missed, a figure says nothing or something regressed; 3 when nothing serves."""
    from modelpivot.cli.screen import Screen
    from modelpivot.errors import PreconditionError
    from modelpivot.settings import read_host_config
    from modelpivot.stages.context import open_context
    from modelpivot.state.paths import StatePaths
    from modelpivot.state.releases import read_current

    host = read_host_config()
    release = read_current(StatePaths(host.state_dir))
    if release is None:
        raise PreconditionError("nothing is served by modelpivot on this host", hint="modelpivot run RECIPE serves something")
    if starts > 1 and not yes:
        raise PreconditionError(
            f"{starts} starts mean {counted(starts - 1, 'downtime')} of {release.id}",
            hint="say --yes, or measure in one start (--starts 1)",
        )
    asked = _recipe_of(StatePaths(host.state_dir), release, recipe)
    with Screen(log_console()) as screen:
        context = open_context(host, name="bench", listeners=[screen])
        measured = _measure(context, release, asked, starts, is_eager=until_told)
    _end_with(measured, as_json=as_json)


def _recipe_of(state: "StatePaths", release: Release, name: str | None) -> Recipe:
    from modelpivot.recipes import read_recipe
    from modelpivot.state.releases import read_recipe_of

    return read_recipe(name) if name else read_recipe_of(state, release)


def _measure(context: Context, release: Release, recipe: Recipe, starts: int, *, is_eager: bool) -> Bench:
    from modelpivot.errors import PivotError
    from modelpivot.stages.pictures import draw_run
    from modelpivot.stages.starts import judge, measure_starts
    from modelpivot.state.lock import acquire_lock, release_lock

    tell = context.journal
    tell("started", f"bench {release.id}")
    acquire_lock(context.state, run_id=context.run.id, what=f"bench {context.run.id}")
    try:
        measurements, comparison = measure_starts(context, release, recipe, starts=starts, is_eager=is_eager, standing="accepted")
    except PivotError as error:
        tell("failed", error.message, error=type(error).__name__, exit_code=error.exit_code, hint=error.hint)
        raise
    finally:
        release_lock(context.state)
    checks = judge(recipe, measurements, comparison)
    tell("finished", f"measured {release.id}", outcome="measured", checks=[check.model_dump(mode="json") for check in checks])
    return Bench(
        run_id=context.run.id,
        release=release.id,
        measurements=measurements,
        checks=checks,
        comparison=comparison,
        pictures=draw_run(context.state, context.run.id).page,
    )


def _end_with(measured: Bench, *, as_json: bool) -> None:
    from modelpivot.cli.compared import show_comparison
    from modelpivot.stages.benchmark import say_measurement

    if as_json:
        answer(measured)
    else:
        out = console()
        for measurement in measured.measurements:
            out.print(say_measurement(measurement))
        for check in measured.checks:
            if not check.passed:
                out.print(f"✗ {check}", style="red")
        if measured.comparison:
            show_comparison(out, measured.comparison)
        out.print(f"Pictures: {measured.pictures}")
    raise typer.Exit(ExitCode.DONE if all(check.passed for check in measured.checks) else ExitCode.SAID_NO)


def compare(
    baseline: Annotated[str, typer.Argument(help="A run, a release, an engine version, or the beginning of one.")],
    candidate: Annotated[str, typer.Argument(help="The same.")],
    percent: Annotated[float, typer.Option(min=0.1, max=99, help="A loss of more than this is a regression.")] = 5.0,
    as_json: AsJson = False,
) -> None:
    """Hold two sets of results against each other. Exit 1 when something regressed, 2 when they cannot be compared."""
    from modelpivot.cli.compared import show_comparison
    from modelpivot.cli.history import look_back
    from modelpivot.errors import UsageError
    from modelpivot.models.workload import Regression
    from modelpivot.plans.compare import Side
    from modelpivot.plans.compare import compare as hold
    from modelpivot.plans.references import find_results

    known = look_back()
    sides = [Side(word, find_results(known, word)) for word in (baseline, candidate)]
    made = hold(sides[0], sides[1], Regression(percent=percent), known)
    if not made.changes:
        raise UsageError(f"{baseline} and {candidate} cannot be compared: {'; '.join(made.refused)}")
    answer(made) if as_json else show_comparison(console(), made)
    raise typer.Exit(ExitCode.SAID_NO if made.verdict == "regressed" else ExitCode.DONE)
