"""install, adopt, promote, rollback: single stages by hand. None of them needs Prefect."""

from pathlib import Path
from typing import Annotated

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
    for command in (install, adopt, promote, rollback):
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


def adopt(
    unit: Annotated[str, typer.Argument(help="The running service, such as vllm-glm5.service.")],
    port: Annotated[int | None, typer.Option(help="Where its API answers, if that cannot be read.")] = None,
    served_name: Annotated[str | None, typer.Option(help="Name of its model, if not the first that it lists.")] = None,
    gpus: Annotated[int | None, typer.Option(min=0, help="How many it holds, if the driver does not tell.")] = None,
    api_key_file: Annotated[Path | None, typer.Option(help="File with the key that it asks for, if its unit does not show it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Take a running service over as the current release, to pivot away from and to go back to; it goes on as it is."""
    from modelpivot.stages.adopt import Said
    from modelpivot.stages.adopt import adopt as carry_out

    said = Said(port=port, served_name=served_name, gpus=gpus, api_key_file=api_key_file)
    release = carry_out(_context("adopt"), unit, said)
    answer(release) if as_json else console().print(f"{release.id} is the current release; it answers at {release.endpoint.base_url}")


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
