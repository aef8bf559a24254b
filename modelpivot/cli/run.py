"""run, stage, cutover and watch: carry a recipe out, whole or in two halves; follow a run."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from modelpivot.cli.output import AsJson, answer, console, log_console
from modelpivot.models.result import RunResult
from modelpivot.models.spelled import plain

RecipeName = Annotated[str, typer.Argument(help="Name of a recipe in deployments/recipes, or path of a YAML file.")]
Yes = Annotated[bool, typer.Option("--yes", help="Answer every question of the plan with yes.")]


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command()(run)
    app.command()(stage)
    app.command()(cutover)
    app.command()(watch)


def run(
    recipe: RecipeName,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and plan, change nothing.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Stage beside the running service, prove, cut over, measure, promote; back by itself when it is not good."""
    _carry_out("pivot", recipe, {"dry_run": dry_run}, yes=yes, as_json=as_json)


def stage(recipe: RecipeName, yes: Yes = False, as_json: AsJson = False) -> None:
    """The first half of `run`: bring in and prove everything, beside what serves; nothing that serves is changed."""
    _carry_out("stage", recipe, {}, yes=yes, as_json=as_json)


def cutover(recipe: RecipeName, yes: Yes = False, as_json: AsJson = False) -> None:
    """The second half of `run`: serve what is staged, measure, promote; back by itself when it is not good. Exit 3 when it is not staged whole."""
    _carry_out("cutover", recipe, {}, yes=yes, as_json=as_json)


def _carry_out(flow: str, recipe: str, parameters: Mapping[str, JsonValue], *, yes: bool, as_json: bool) -> None:
    from modelpivot.recipes import read_recipe

    name = read_recipe(recipe).name
    given = {"recipe": locate(recipe), **parameters}
    end_with(follow_agreed(flow, given, name, yes=yes, is_asked=not as_json), as_json=as_json)


def locate(recipe: str) -> str:
    """A recipe's file by its whole path, for a process that starts elsewhere; its name as it is."""
    return str(Path(recipe).resolve()) if "/" in recipe or recipe.endswith((".yaml", ".yml")) else recipe


def follow_agreed(flow: str, parameters: Mapping[str, JsonValue], name: str, *, yes: bool, is_asked: bool) -> RunResult:
    """A flow to its end; who sits at a terminal is asked what the run would have asked, and after a yes it goes on."""
    has_person = is_asked and not yes and sys.stdin.isatty()
    result = follow(flow, {**parameters, "agreed": yes}, name, has_person=has_person)
    if not result.asks or not has_person:
        return result
    is_agreed = typer.confirm(plain("\n".join([*result.asks, "Go on, with a yes to all of it?"])), err=True)
    return follow(flow, {**parameters, "agreed": True}, name) if is_agreed else result


def follow(flow: str, parameters: Mapping[str, JsonValue], name: str, *, has_person: bool = False) -> RunResult:
    """A flow in a process of its own, shown while it goes on, to its end. `has_person`: whoever sits here is asked what it asks."""
    from modelpivot.cli.screen import Screen
    from modelpivot.flow_child import ASKER, FlowChild
    from modelpivot.settings import read_host_config
    from modelpivot.state.runs import new_run_id

    env = {ASKER: "1"} if has_person else {}
    child = FlowChild(read_host_config(), flow, parameters, new_run_id(name), env=env)
    with Screen(log_console()) as screen:
        return child.follow(screen)


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
