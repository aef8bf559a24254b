"""install, adopt, promote, rollback, recover: single stages by hand. None of them needs Prefect."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from modelpivot.cli.internal import code_of
from modelpivot.cli.output import AsJson, answer, console, log_console
from modelpivot.models.cutover import Cutover, Recovered
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.recorded import LastWord, recorded
from modelpivot.stages.standing_down import say_started, started_since
from modelpivot.state.releases import read_book


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    for command in (install, adopt, promote, rollback, recover):
        app.command()(command)


def install(recipe: str, as_json: AsJson = False) -> None:
    """Build and prove the recipe's engine environment beside what is there; changes no live one."""
    from modelpivot.recipes import read_recipe
    from modelpivot.stages.install import install as carry_out
    from modelpivot.stages.plan import make_plan
    from modelpivot.state.lock import acquire_lock, release_lock

    chosen = read_recipe(recipe)
    with own_run("install") as (context, word):
        acquire_lock(context.state, run_id=context.run.id, what=f"install for {chosen.name}")
        try:
            proof = carry_out(context, make_plan(context, chosen))
        finally:
            release_lock(context.state)
        word.outcome, word.message = "staged", f"{proof.engine} {proof.engine_version} is proved"
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
    with own_run("adopt") as (context, word):
        release = carry_out(context, unit, said)
        word.outcome, word.message = "adopted", f"{release.id} is the current release"
    answer(release) if as_json else console().print(f"{release.id} is the current release; it answers at {release.endpoint.base_url}")


def promote(as_json: AsJson = False) -> None:
    """Confirm the open switch: the new release becomes current."""
    from modelpivot.stages.promote import promote as carry_out

    with own_run("promote") as (context, word):
        closed = carry_out(context)
        word.message = say_cutover(closed)
    _show(closed, as_json=as_json)
    raise typer.Exit(code_of(closed))


def rollback(as_json: AsJson = False) -> None:
    """Go back: an open switch is asked to return, what was stopped by name starts again, else the host switches to the release before."""
    from modelpivot.stages.rollback import is_rolled_back, say_rolled_back
    from modelpivot.stages.rollback import rollback as carry_out

    with own_run("rollback") as (context, word):
        before = read_book(context.state).stopped
        closed = carry_out(context)
        if closed is None or is_rolled_back(context, closed):
            word.outcome, word.message = "rolled_back", say_rolled_back(closed, started_since(context, before))
        else:
            word.message = say_cutover(closed)
    if closed is not None:
        _show(closed, as_json=as_json)
    else:
        _show_recovered(Recovered(outcome="started", message=word.message), as_json=as_json)
    raise typer.Exit(code_of(closed))


def recover(as_json: AsJson = False) -> None:
    """Finish, backwards, what a dead switch left open; start what is down or was stopped by name. Nothing to do is no failure."""
    from modelpivot.stages.recover import recover as carry_out
    from modelpivot.stages.recover import say_recovered

    with own_run("recover") as (context, word):
        before = read_book(context.state).stopped
        closed = carry_out(context)
        again = started_since(context, before)
        word.outcome = "recovered" if again else "no_change"
        word.message = (
            "; ".join([say_cutover(closed), *([say_started(again)] if again else [])]) if closed else say_recovered(context, again)
        )
    outcome = closed.outcome if closed and closed.outcome else "started" if again else "nothing_open"
    _show_recovered(Recovered(outcome=outcome, message=word.message, cutover=closed), as_json=as_json)
    raise typer.Exit(code_of(closed))


@contextmanager
def own_run(name: str) -> Iterator[tuple[Context, LastWord]]:
    """A run of this command's own, shown as it goes and recorded like any other."""
    from modelpivot.cli.screen import Screen
    from modelpivot.demo.following import followed
    from modelpivot.settings import read_host_config

    context = open_context(read_host_config(), name=name)
    with Screen(log_console()) as screen, followed(context.run, screen), recorded(context, name) as word:
        yield context, word


def say_cutover(closed: Cutover) -> str:
    """How a switch ended, in one line."""
    return f"{closed.outcome}: {closed.from_release or 'nothing'} -> {closed.to_release}{f': {closed.reason}' if closed.reason else ''}"


def _show_recovered(recovered: Recovered, *, as_json: bool) -> None:
    answer(recovered) if as_json else console().print(recovered.message)


def _show(closed: Cutover, *, as_json: bool) -> None:
    answer(closed) if as_json else console().print(say_cutover(closed))
