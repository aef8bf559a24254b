"""All commands on one app. The modules are light; what is heavy is imported where a command runs."""

import sys
from typing import Any

import typer
from typer._click.exceptions import UsageError as WrongWords
from typer.core import TyperGroup

from modelpivot.cli import bench, demo, env, look, plan, recipe, run, stages, weights
from modelpivot.cli.internal import internal
from modelpivot.errors import Interrupted, UsageError


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


app = typer.Typer(
    name="modelpivot",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Move a GPU host from the language model it serves to another one: staged, proved, measured, and back by itself when it is not good.",
)

for module in (bench, demo, env, look, plan, recipe, run, stages, weights):
    module.add_to(app)
app.registered_commands.extend(internal.registered_commands)
