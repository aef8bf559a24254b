"""reclaim: make room. Shows what may go and asks; what exists nowhere else only by its id. Needs no Prefect."""

from contextlib import suppress

import typer

from modelpivot.cli.agreeing import Agree, DryRun, FromRecipe, Only, Words, Yes, agreed_to, kinds_of, make_room_to_work
from modelpivot.cli.output import AsJson, answer, console
from modelpivot.errors import GateFailed
from modelpivot.models.reclaim import Reclaimed, ReclaimPlan
from modelpivot.models.result import ExitCode


def add_to(app: typer.Typer) -> None:
    """Mount the command."""
    app.command()(reclaim)


def reclaim(
    dry_run: DryRun = False,
    yes: Yes = False,
    only: Only = None,
    agree: Agree = None,
    recipe: FromRecipe = None,
    as_json: AsJson = False,
) -> None:
    """Free what no release needs: old weights, environments, views, kernels, partials, unreferenced cache. Shows first, then asks."""
    from modelpivot.cli.stages import own_run
    from modelpivot.stages.reclaim import plan as make_plan
    from modelpivot.stages.reclaim import reclaim as carry_out
    from modelpivot.stages.reclaim import require_all_gone, say_done, say_plan

    kinds = kinds_of(only or [])
    make_room_to_work()
    with suppress(GateFailed), own_run("reclaim") as (context, word):  # what stays is shown below, and is the exit code
        made = make_plan(context, only=kinds)
        word.outcome, word.message = "planned", say_plan(made)
        if not as_json:
            show_plan(made)
        if not dry_run:
            done = carry_out(context, made, agreed_to(made, Words(yes, agree or [], recipe, as_json)))
            word.outcome, word.message = "reclaimed", say_done(done)
            require_all_gone(done)
    if dry_run:
        answer(made) if as_json else None
        return
    answer(done) if as_json else show_done(done)
    raise typer.Exit(ExitCode.SAID_NO if done.failed else ExitCode.DONE)


def show_plan(made: ReclaimPlan) -> None:
    """For a person: what may go, then what stays and why."""
    from modelpivot.cli.reclaim_view import show_room

    show_room(console(), made)


def show_done(done: Reclaimed) -> None:
    """For a person: what went, promised and measured."""
    from modelpivot.cli.reclaim_view import show_reclaimed

    show_reclaimed(console(), done)
