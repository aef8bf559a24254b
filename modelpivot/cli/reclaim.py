"""reclaim: make room. Shows what may go and asks; what exists nowhere else only by its id. Needs no Prefect."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console
from modelpivot.errors import GateFailed, UsageError
from modelpivot.models.reclaim import KINDS, Kind, Reclaimed, ReclaimPlan
from modelpivot.models.result import ExitCode

if TYPE_CHECKING:
    from modelpivot.stages.reclaim import Agreed

Only = Annotated[list[str] | None, typer.Option("--only", help=f"This kind alone, may be given again: {', '.join(KINDS)}.")]
Yes = Annotated[bool, typer.Option("--yes", help="Agree to everything that asks for no more than a yes.")]
Agree = Annotated[list[str] | None, typer.Option("--agree", help="Agree to one thing by its id; what exists nowhere else goes only so.")]
FromRecipe = Annotated[str | None, typer.Option("--recipe", help="Take the consents of this recipe: reclaim, or ids.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what may go, change nothing.")]


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
            done = carry_out(context, made, agreed_to(made, yes=yes, agree=agree or [], recipe=recipe, as_json=as_json))
            word.outcome, word.message = "reclaimed", say_done(done)
            require_all_gone(done)
    if dry_run:
        answer(made) if as_json else None
        return
    answer(done) if as_json else show_done(done)
    raise typer.Exit(ExitCode.SAID_NO if done.failed else ExitCode.DONE)


def make_room_to_work() -> None:
    """On a disk that is full to the last byte, the bytes that were kept for this."""
    from modelpivot.settings import read_host_config
    from modelpivot.state.paths import StatePaths
    from modelpivot.state.spare import give_up_spare

    give_up_spare(StatePaths(read_host_config().state_dir))


def kinds_of(words: list[str]) -> list[Kind]:
    """The kinds that are named. UsageError names one that is none."""
    if unknown := [word for word in words if word not in KINDS]:
        raise UsageError(f"--only: expected one of {', '.join(KINDS)}, found {unknown[0]!r}")
    return [kind for kind in KINDS if kind in words]


def agreed_to(made: ReclaimPlan, *, yes: bool, agree: list[str], recipe: str | None, as_json: bool) -> "Agreed":
    """What was said on the command line, in a recipe's consents, or is answered on the terminal now."""
    from modelpivot.recipes import read_recipe
    from modelpivot.stages.reclaim import Agreed

    consents = read_recipe(recipe).consents if recipe else []
    offered = {item.id for item in made.items}
    named = [*agree, *(each for each in consents if each in offered)]
    is_agreed = yes or "reclaim" in consents
    is_open = any(item.ask == "yes" for item in made.items) and not (is_agreed or named)
    if is_open and not as_json and sys.stdin.isatty():
        is_agreed = typer.confirm("Let everything go that needs no more than a yes?", err=True)
    return Agreed(is_agreed=is_agreed, named=named)


def show_plan(made: ReclaimPlan) -> None:
    """For a person: what may go, then what stays and why."""
    from modelpivot.cli.reclaim_view import show_room

    show_room(console(), made)


def show_done(done: Reclaimed) -> None:
    """For a person: what went, promised and measured."""
    from modelpivot.cli.reclaim_view import show_reclaimed

    show_reclaimed(console(), done)
