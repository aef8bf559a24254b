"""The app that commands are mounted on: all of them, or only those of one module where the words on the command line are its own."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer._click.exceptions import UsageError as WrongWords
from typer.core import TyperGroup

from modelpivot.errors import Interrupted, UsageError

ALONE = {
    "facts": "modelpivot.cli.plan",
    "plan": "modelpivot.cli.plan",
    "fetch": "modelpivot.cli.weights",
    "verify": "modelpivot.cli.weights",
    "patch": "modelpivot.cli.weights",
}
"""Commands that start without what the others need (0.2 s): a verification of proved weights takes little longer than that."""


class Commands(TyperGroup):
    """The commands, with two of typer's own ends made ours, so that both are told like every other: Ctrl-C, and wrong words with --json."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            hint = "the same command goes on from there; a switch that was open ends by itself (modelpivot status)"
            raise Interrupted("interrupted; what is done stays", hint=hint) from None
        except WrongWords as error:
            if "--json" not in sys.argv:
                raise
            raise UsageError(error.format_message(), hint="the commands and what they take: modelpivot --help") from None


def new_app() -> typer.Typer:
    """An app without commands."""
    return typer.Typer(
        name="modelpivot",
        cls=Commands,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Move a GPU host from the language model it serves to another one: staged, proved, measured, and back by itself when it is not good.",
    )


def app_for(words: Sequence[str]) -> typer.Typer:
    """The app that these words need."""
    if not words or words[0] not in ALONE:
        from modelpivot.cli.app import app

        return app
    app = new_app()
    import_module(ALONE[words[0]]).add_to(app)
    return app
