"""Commands that the product starts itself: the switch process, and the recovery at boot. Light to import, so that a switch starts fast."""

from typing import Annotated

import typer

from modelpivot.models.cutover import Cutover
from modelpivot.models.result import ExitCode

internal = typer.Typer(help="Started by modelpivot itself.", add_completion=False)

CODES = {
    "promoted": ExitCode.DONE,
    "returned": ExitCode.SWITCHED_BACK,
    "nothing_serves": ExitCode.NOTHING_SERVES,
    "not_started": ExitCode.BLOCKED,
}


@internal.command("switch", hidden=True)
def switch(
    cutover_id: Annotated[str, typer.Argument(help="Id of the open switch.")],
    is_back: Annotated[bool, typer.Option("--back", help="Undo what an earlier process began.")] = False,
) -> None:
    """Carry the open switch out."""
    from modelpivot.cli.said import say_error
    from modelpivot.errors import HostHeld
    from modelpivot.settings import read_host_config
    from modelpivot.stages.carry_out import carry_out
    from modelpivot.state.paths import StatePaths
    from modelpivot.up.alarm import sound_alarm

    host = read_host_config()
    state = StatePaths(host.state_dir)
    try:
        closed = carry_out(host, state, cutover_id, is_back=is_back)
    except HostHeld as error:
        say_error(error)
        raise typer.Exit(ExitCode.HELD) from error
    if closed:
        sound_alarm(host, state, closed)
    raise typer.Exit(code_of(closed))


@internal.command("recover", hidden=True)
def recover_command(
    is_boot: Annotated[bool, typer.Option("--boot", help="Before any unit of ours is started; waits for none.")] = False,
) -> None:
    """Finish, backwards, what a dead switch process left open. For people there is `modelpivot recover` (stages.py), which says what it does."""
    from modelpivot.settings import read_host_config
    from modelpivot.stages.context import open_context
    from modelpivot.stages.recover import recover, recover_at_boot
    from modelpivot.state.paths import StatePaths
    from modelpivot.supervisors.unit_environment import name_missing_environment

    host = read_host_config()
    if is_boot:
        if missing := name_missing_environment(host.state_dir):
            typer.echo(missing, err=True)
        raise typer.Exit(code_of(recover_at_boot(host, StatePaths(host.state_dir))))
    raise typer.Exit(code_of(recover(open_context(host, name="recover"))))


@internal.command("child", hidden=True)
def child(
    stage: Annotated[str, typer.Argument(help="install or fetch.")],
    run_id: Annotated[str, typer.Option("--run", help="Id of the run whose plan it carries out.")],
) -> None:
    """Carry one stage of a run out in a process of its own."""
    from modelpivot.stages.children import STAGES, child_main

    name = next((known for known in STAGES if known == stage), None)
    if name is None:
        raise typer.BadParameter(f"expected one of {', '.join(STAGES)}, found {stage}")
    raise typer.Exit(child_main(name, run_id))


def code_of(cutover: Cutover | None) -> ExitCode:
    """The exit code that tells how a switch ended; None: there was nothing to do."""
    return ExitCode.DONE if cutover is None or cutover.outcome is None else CODES[cutover.outcome]


if __name__ == "__main__":
    internal()
