"""facts, plan: read everything, decide, change nothing."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console
from modelpivot.models.spelled import plain

if TYPE_CHECKING:
    from modelpivot.models.engine import Engine
    from modelpivot.models.facts import Facts
    from modelpivot.models.host import HostConfig
    from modelpivot.models.plan import Plan
    from modelpivot.models.recipe import Recipe

RecipeArgument = Annotated[str, typer.Argument(help="Name of a recipe in deployments/recipes, or path of a YAML file.")]


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    for command in (facts, plan):
        app.command()(command)


def facts(
    recipe: Annotated[str | None, typer.Argument(help="Read the recipe's model and engine too: what `plan --facts` takes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read this host."""
    from modelpivot.cli.facts_view import show_facts, show_model
    from modelpivot.facts.everything import HOST_S, read_facts, read_host_facts
    from modelpivot.facts.known import read_known
    from modelpivot.recipes import read_engine, read_recipe
    from modelpivot.settings import read_host_config
    from modelpivot.state.paths import StatePaths

    host = read_host_config()
    state = StatePaths(host.state_dir)
    if recipe is None:
        known = read_known(state, may_be_unread=True)
        read = read_host_facts(host, state, until=time.monotonic() + HOST_S, known=known)
        answer(read) if as_json else show_facts(console(), read)
        return
    chosen = read_recipe(recipe)
    whole = read_facts(host, state, chosen, read_engine(chosen.engine.name), may_be_unread=True)
    if as_json:
        answer(whole)
    else:
        show_facts(console(), whole.host)
        show_model(console(), whole)


def plan(
    recipe: RecipeArgument,
    facts_file: Annotated[
        Path | None, typer.Option("--facts", help="Plan from recorded facts instead of this host's (modelpivot facts [RECIPE] --json).")
    ] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="As Prefect shows it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read everything, decide, change nothing. Exit 3 when something stands in the way."""
    from modelpivot.cli.plan_view import show_plan
    from modelpivot.models.result import ExitCode

    made = make(recipe, facts_file)
    if as_json:
        answer(made)
    elif as_markdown:
        from modelpivot.plans.markdown import plan_markdown

        typer.echo(plain(plan_markdown(made)))
    else:
        show_plan(console(), made)
    raise typer.Exit(ExitCode.BLOCKED if made.blockers else ExitCode.DONE)


def make(recipe: str, facts_file: Path | None) -> "Plan":
    """The plan, from this host's facts or from recorded ones with the configuration that they were read with."""
    from modelpivot.facts.everything import read_facts
    from modelpivot.plans.pivot import plan_pivot
    from modelpivot.recipes import read_engine, read_recipe
    from modelpivot.settings import read_host_config
    from modelpivot.state.paths import StatePaths

    host, chosen = read_host_config(), read_recipe(recipe)
    engine = read_engine(chosen.engine.name)
    if facts_file is None:
        return plan_pivot(chosen, host, read_facts(host, StatePaths(host.state_dir), chosen, engine), engine)
    recorded = read_recorded(facts_file, host, chosen, engine)
    return plan_pivot(chosen, recorded.configuration or host, recorded, engine)


def read_recorded(path: Path, host: "HostConfig", recipe: "Recipe", engine: "Engine") -> "Facts":
    """Recorded facts: of host, model and engine; or of the host alone, where model and engine are read now. UsageError when they are neither."""
    from modelpivot.errors import UsageError
    from modelpivot.facts.engine_change import read_engine_facts
    from modelpivot.facts.model import read_model_facts
    from modelpivot.files import read_model
    from modelpivot.models.facts import Facts, HostFacts

    hint = "record them with: modelpivot facts RECIPE --json"
    try:
        whole = read_model(path, Facts)
    except UsageError as error:
        try:
            of_host = read_model(path, HostFacts)
        except UsageError:
            raise UsageError(error.message, hint=hint) from error
        assert of_host is not None
        return Facts(host=of_host, model=read_model_facts(host, recipe.model), engine=read_engine_facts(host, engine, recipe.engine))
    if whole is None:
        raise UsageError(f"{path}: no such file", hint=hint)
    return whole
