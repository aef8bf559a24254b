"""What a person says to things that may go: by options, in a recipe's consents, or with a yes on the terminal. For `reclaim` and `cleanup`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from modelpivot.errors import UsageError
from modelpivot.models.reclaim import KINDS, Kind, ReclaimPlan
from modelpivot.models.spelled import plain

if TYPE_CHECKING:
    from modelpivot.stages.reclaim import Agreed

Only = Annotated[list[str] | None, typer.Option("--only", help=f"This kind alone, may be given again: {', '.join(KINDS)}.")]
Yes = Annotated[bool, typer.Option("--yes", help="Agree to everything that asks for no more than a yes.")]
Agree = Annotated[list[str] | None, typer.Option("--agree", help="Agree to one thing by its id; what exists nowhere else goes only so.")]
FromRecipe = Annotated[str | None, typer.Option("--recipe", help="Take the consents of this recipe: reclaim, or ids.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what may go, change nothing.")]
LET_GO = "Let everything go that needs no more than a yes?"


@dataclass(frozen=True)
class Words:
    """What was said on the command line."""

    yes: bool
    agree: Sequence[str]
    recipe: str | None
    as_json: bool


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


def agreed_to(made: ReclaimPlan, words: Words, *, stops: Sequence[str] = ()) -> "Agreed":
    """What the words or a recipe's consents agree to; else what is answered on the terminal now. `stops`: what stops with the same yes."""
    from modelpivot.recipes import read_recipe
    from modelpivot.stages.reclaim import Agreed

    consents = read_recipe(words.recipe).consents if words.recipe else []
    offered = {item.id for item in made.items}
    named = [*words.agree, *(each for each in consents if each in offered)]
    is_agreed = words.yes or "reclaim" in consents
    needs_a_yes = bool(stops) or (not named and any(item.ask == "yes" for item in made.items))
    if needs_a_yes and not is_agreed and not words.as_json and sys.stdin.isatty():
        question = f"Stop {', '.join(stops)} and let everything go that needs no more than a yes?" if stops else LET_GO
        is_agreed = typer.confirm(plain(question), err=True)
    return Agreed(is_agreed=is_agreed, named=named)
