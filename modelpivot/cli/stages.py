"""install, promote, rollback: single stages by hand. None of them needs Prefect."""

import typer

from modelpivot.cli.output import AsJson, answer, console, log_console
from modelpivot.models.cutover import Cutover, Outcome
from modelpivot.models.result import ExitCode
from modelpivot.stages.context import Context

EXITS: dict[Outcome | None, ExitCode] = {
    "promoted": ExitCode.DONE,
    "returned": ExitCode.SWITCHED_BACK,
    "nothing_serves": ExitCode.NOTHING_SERVES,
    "not_started": ExitCode.HELD,
    None: ExitCode.DONE,
}


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    for command in (install, promote, rollback):
        app.command()(command)


def install(recipe: str, as_json: AsJson = False) -> None:
    """Build and prove the recipe's engine environment beside what is there; changes no live one."""
    from modelpivot.recipes import read_recipe
    from modelpivot.stages.install import install as carry_out
    from modelpivot.stages.plan import make_plan
    from modelpivot.state.lock import acquire_lock, release_lock

    chosen = read_recipe(recipe)
    context = _context("install")
    acquire_lock(context.state, run_id=context.run.id, what=f"install for {chosen.name}")
    try:
        proof = carry_out(context, make_plan(context, chosen))
    finally:
        release_lock(context.state)
    answer(proof) if as_json else console().print(f"{proof.engine} {proof.engine_version} proved in {proof.path}")


def promote(as_json: AsJson = False) -> None:
    """Confirm the open switch: the new release becomes current."""
    from modelpivot.stages.promote import promote as carry_out

    _end_with_cutover(carry_out(_context("promote")), as_json=as_json)


def rollback(as_json: AsJson = False) -> None:
    """Go back: an open switch is asked to return, else the host switches to the release before."""
    from modelpivot.stages.rollback import rollback as carry_out

    _end_with_cutover(carry_out(_context("rollback")), as_json=as_json)


def _context(name: str) -> Context:
    from modelpivot.cli.screen import Screen
    from modelpivot.settings import read_host_config
    from modelpivot.stages.context import open_context

    return open_context(read_host_config(), name=name, listeners=[Screen(log_console())])


def _end_with_cutover(cutover: Cutover, *, as_json: bool) -> None:
    if as_json:
        answer(cutover)
    else:
        console().print(f"{cutover.outcome}: {cutover.from_release} -> {cutover.to_release} {cutover.reason}")
    raise typer.Exit(EXITS[cutover.outcome])
