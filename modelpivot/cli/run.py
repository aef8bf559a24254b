"""run and watch: carry a recipe out, follow a run."""

from pathlib import Path
from typing import Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console, log_console
from modelpivot.models.result import RunResult

Yes = Annotated[bool, typer.Option("--yes", help="Answer every question of the plan with yes.")]


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command()(run)
    app.command()(watch)


def run(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe in deployments/recipes, or path of a YAML file.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and plan, change nothing.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Stage beside the running service, prove, cut over, measure, promote; back by itself when it is not good."""
    from modelpivot.cli.screen import Screen
    from modelpivot.flow_child import FlowChild
    from modelpivot.recipes import read_recipe
    from modelpivot.settings import read_host_config
    from modelpivot.state.runs import new_run_id

    name = read_recipe(recipe).name
    location = str(Path(recipe).resolve()) if "/" in recipe or recipe.endswith((".yaml", ".yml")) else recipe
    child = FlowChild(read_host_config(), "pivot", {"recipe": location, "dry_run": dry_run, "agreed": yes}, new_run_id(name))
    with Screen(log_console()) as screen:
        result = child.follow(screen)
    end_with(result, as_json=as_json)


def end_with(result: RunResult, *, as_json: bool) -> None:
    """Print the result and end with its exit code."""
    from modelpivot.cli.show import show_result

    if as_json:
        answer(result)
    else:
        show_result(console(), result, title=result.run_id)
    raise typer.Exit(result.exit_code)


def watch(
    run_id: Annotated[str | None, typer.Argument(help="Run to follow; the newest when left out.")] = None, as_json: AsJson = False
) -> None:
    """Follow a run started elsewhere to its end."""
    from modelpivot.cli.screen import Screen
    from modelpivot.errors import UsageError
    from modelpivot.settings import read_host_config
    from modelpivot.stages.report import report
    from modelpivot.state.cutovers import read_cutover_followed_by
    from modelpivot.state.paths import StatePaths
    from modelpivot.state.runs import follow_events, is_run_alive, list_runs

    state = StatePaths(read_host_config().state_dir)
    known = list_runs(state)
    chosen = [one for one in known if run_id in (None, one.id)]
    if not chosen:
        raise UsageError(f"no run {run_id or ''} in {state.runs}", hint=f"there are: {', '.join(one.id for one in known[:5]) or 'none'}")
    followed = chosen[0]
    with Screen(log_console()) as screen:
        for event in follow_events(followed, lambda: not is_run_alive(followed) and read_cutover_followed_by(state, followed.id) is None):
            screen(event)
    end_with(report(state, followed.id), as_json=as_json)
