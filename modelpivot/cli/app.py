"""All commands on one app. The modules are light; what is heavy is imported where a command runs."""

import typer

from modelpivot.cli import demo, look, run, stages, weights
from modelpivot.cli.internal import internal

app = typer.Typer(
    name="modelpivot",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Move a GPU host from the language model it serves to another one: staged, proved, measured, and back by itself when it is not good.",
)

for module in (demo, look, run, stages, weights):
    module.add_to(app)
app.registered_commands.extend(internal.registered_commands)
