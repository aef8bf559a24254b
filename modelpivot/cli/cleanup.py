"""cleanup: the clean slate. Stops what is named, proves GPUs and ports free, shows disk, weights and cache, reclaims what is agreed."""

from pathlib import Path
from typing import Annotated

import typer

from modelpivot.cli.agreeing import Agree, DryRun, FromRecipe, Only, Words, Yes, agreed_to, kinds_of, make_room_to_work
from modelpivot.cli.output import AsJson, answer, console
from modelpivot.cli.said import say_error
from modelpivot.errors import GateFailed, UsageError
from modelpivot.models.cleanup import Cleaned, CleanupPlan
from modelpivot.models.reclaim import Kind
from modelpivot.models.result import ExitCode

Stop = Annotated[list[str] | None, typer.Option("--stop", help="Stop this release or service; nothing stops that is not named.")]
FromFacts = Annotated[Path | None, typer.Option("--facts", help="Plan for the host that these recorded facts are of; changes nothing.")]


def add_to(app: typer.Typer) -> None:
    """Mount the command."""
    app.command()(cleanup)


def cleanup(
    stop: Stop = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    only: Only = None,
    agree: Agree = None,
    recipe: FromRecipe = None,
    facts: FromFacts = None,
    as_json: AsJson = False,
) -> None:
    """A clean slate: stop what is named, prove GPUs and ports free, show disk, weights and cache, reclaim what is agreed."""
    kinds, names = kinds_of(only or []), stop or []
    if facts is not None:
        _end(_plan_recorded(facts, names, kinds), as_json=as_json)
    make_room_to_work()
    words = Words(yes, agree or [], recipe, as_json)
    made, done = _carry_out(names, kinds, words, is_dry=dry_run)
    if done is None:
        _end(made, as_json=as_json, is_shown=True)
    else:
        answer(done) if as_json else _show_done(done)
        is_failed = bool(done.obstacles) or bool(done.reclaimed and done.reclaimed.failed)
        raise typer.Exit(ExitCode.SAID_NO if is_failed else ExitCode.DONE)


def _carry_out(stop: list[str], only: list[Kind], words: Words, *, is_dry: bool) -> tuple[CleanupPlan, Cleaned | None]:
    """The plan, shown, and what was done; None: nothing was to be. A slate that is not clean ends its run as a check that said no."""
    from modelpivot.cli.stages import own_run
    from modelpivot.stages.cleanup import cleanup as carry_out
    from modelpivot.stages.cleanup import plan, require_clean, say_cleaned, say_cleanup

    done: Cleaned | None = None
    try:
        with own_run("cleanup") as (context, word):
            made = plan(context, stop=stop, only=only)
            word.outcome, word.message = "planned", say_cleanup(made)
            if not words.as_json:
                _show(made)
            if not is_dry:
                agreed = agreed_to(made.reclaim, words, stops=[each.name for each in made.to_stop])
                done = carry_out(context, made, agreed, stop=stop, only=only)
                word.outcome, word.message = "cleaned", say_cleaned(done)
                require_clean(done)
    except GateFailed as error:
        if done is None:
            raise
        say_error(error)
    return made, done


def _plan_recorded(path: Path, stop: list[str], only: list[Kind]) -> CleanupPlan:
    from modelpivot.files import read_model
    from modelpivot.models.facts import Facts
    from modelpivot.plans.cleanup import plan_cleanup
    from modelpivot.plans.recorded_room import room_of_facts
    from modelpivot.settings import read_host_config

    facts = read_model(path, Facts)
    if facts is None:
        raise UsageError(f"{path}: no such file", hint="modelpivot facts RECIPE --json writes one")
    host = facts.configuration or read_host_config()
    return plan_cleanup(host, facts.host, room_of_facts(host, facts.host), stop=stop, only=only)


def _end(made: CleanupPlan, *, as_json: bool, is_shown: bool = False) -> None:
    """Show the plan, and end with what it means: 3 when something stands in the way."""
    if as_json:
        answer(made)
    elif not is_shown:
        _show(made)
    raise typer.Exit(ExitCode.BLOCKED if made.blockers else ExitCode.DONE)


def _show(made: CleanupPlan) -> None:
    from modelpivot.cli.cleanup_view import show_cleanup

    show_cleanup(console(), made)


def _show_done(done: Cleaned) -> None:
    from modelpivot.cli.cleanup_view import show_cleaned

    show_cleaned(console(), done)
