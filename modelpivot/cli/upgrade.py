"""upgrade-test: the nightly, now."""

from typing import Annotated, Literal

import typer
from pydantic import JsonValue

from modelpivot.cli.output import AsJson
from modelpivot.cli.run import end_with, follow, follow_agreed, locate
from modelpivot.models.result import ExitCode

WHAT_SERVES = "what serves"
"""How the flow is told of the recipe that serves."""
ChannelOption = Annotated[Literal["stable", "pre-release", "nightly"], typer.Option(help="Where the newest engine is looked for.")]
CapacityOption = Annotated[
    Literal["auto", "spare", "window"],
    typer.Option(help="Beside what serves, or in its place in the host's window; auto: the window where there is one."),
]
ModelOption = Annotated[
    Literal["auto", "recipe", "probe"], typer.Option(help="Its own model, or a probe model of a few layers; auto: its own in a window.")
]


def add_to(app: typer.Typer) -> None:
    """Mount the command."""
    app.command()(upgrade_test)


def upgrade_test(
    recipe: Annotated[str | None, typer.Argument(help="Whose model and settings; left out, those of what serves.")] = None,
    channel: ChannelOption = "stable",
    capacity: CapacityOption = "auto",
    model: ModelOption = "auto",
    again: Annotated[bool, typer.Option("--again", help="Test also a version that was tested before.")] = False,
    promote: Annotated[bool, typer.Option("--promote", help="When it passes, make it current by an ordinary pivot.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and plan, change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --promote: answer every question of that pivot's plan with yes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Try the newest engine, measure it against the current one, put everything back. Exit 1 when it regressed or failed to start."""
    parameters: dict[str, JsonValue] = {
        "recipe": locate(recipe) if recipe else WHAT_SERVES,
        "channel": channel,
        "capacity": capacity,
        "model": model,
    }
    result = follow("upgrade_test", parameters | {"again": again, "dry_run": dry_run}, "upgrade-test")
    if promote and result.exit_code == ExitCode.DONE and result.upgrade and result.upgrade.verdict == "passed":
        pivot: dict[str, JsonValue] = {"recipe": str(result.upgrade.pinned_recipe), "dry_run": False}
        result = follow_agreed("pivot", pivot, "pivot", yes=yes, is_asked=not as_json)
    end_with(result, as_json=as_json)
