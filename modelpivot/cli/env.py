"""env plan, list, export, restore: engines' environments. Only restore changes anything, and never what is there."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console
from modelpivot.errors import UsageError
from modelpivot.models.counted import counted
from modelpivot.models.engine_change import EngineChange, Environments
from modelpivot.models.result import ExitCode
from modelpivot.models.size import say_bytes

if TYPE_CHECKING:
    from modelpivot.models.engine import Engine
    from modelpivot.models.recipe import EngineChoice

env = typer.Typer(no_args_is_help=True, help="Environments of engines: what a change would change, what is there, what a rebuild needs.")
EXITS = {"blocked": ExitCode.BLOCKED, "no_wheel": ExitCode.BLOCKED, "unresolved": ExitCode.BLOCKED, "unreachable": ExitCode.PASSING}


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    app.add_typer(env, name="env")


@env.command()
def plan(
    requirements: Annotated[list[str] | None, typer.Argument(help="PEP 508: vllm==0.26.0, a wheel's path, name @ git+https://...")] = None,
    environment: Annotated[Path | None, typer.Option(help="Environment to hold it against; the one that serves unless named.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Engine, policy and consents of this recipe.")] = None,
    override: Annotated[list[str] | None, typer.Option(help="Requirement that holds whatever others ask for.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Package to leave out.")] = None,
    torch_backend: Annotated[str | None, typer.Option(help="cu128, cpu, ...; driver: what this host's driver offers.")] = None,
    nightly: Annotated[
        bool, typer.Option("--nightly", help="The newest of the host's nightly index; none for this machine is no failure.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Hash every installed file, whatever sizes and times say.")] = False,
    as_json: AsJson = False,
) -> None:
    """What an engine change would change: every package, classed, with what the policy says. Touches nothing."""
    from modelpivot.settings import read_host_config
    from modelpivot.stages.engine_change import plan_for_choice

    engine, choice, consents = _asked(requirements or [], recipe)
    changed: dict[str, object] = {
        "overrides": [*choice.overrides, *(override or [])],
        "exclude_packages": [*choice.exclude_packages, *(exclude or [])],
    }
    changed |= {} if torch_backend is None else {"torch_backend": torch_backend}
    changed |= {"channel": "nightly"} if nightly else {}
    choice = _changed(choice, changed)
    made = plan_for_choice(read_host_config(), engine, choice, environment=environment, consents=consents, is_full=full)
    answer(made) if as_json else show_change(made)
    is_news = made.verdict == "no_wheel" and choice.channel == "nightly"
    raise typer.Exit(ExitCode.DONE if is_news else EXITS.get(made.verdict, ExitCode.DONE))


def _changed(choice: "EngineChoice", changed: dict[str, object]) -> "EngineChoice":
    from pydantic import ValidationError

    from modelpivot.files import describe_invalid
    from modelpivot.models.recipe import EngineChoice

    try:
        return EngineChoice.model_validate({**choice.model_dump(), **changed})
    except ValidationError as error:
        raise UsageError(describe_invalid(error), hint="an override is PEP 508 (name==1.2), an exclusion the name of a package") from error


def _asked(requirements: list[str], recipe: str | None) -> "tuple[Engine, EngineChoice, list[str]]":
    from modelpivot.recipes import read_engine, read_recipe
    from modelpivot.stages.engine_change import engine_for

    if not requirements and recipe is None:
        raise UsageError("env plan: expected a requirement, such as vllm==0.26.0, or --recipe NAME, found neither")
    chosen = read_recipe(recipe) if recipe else None
    if chosen and not requirements:
        return read_engine(chosen.engine.name), chosen.engine, chosen.consents
    engine, choice = engine_for(requirements, chosen.engine if chosen else None)
    return engine, choice, chosen.consents if chosen else []


def show_change(made: EngineChange) -> None:
    """For a person: what stands in the way first, then the packages."""
    from modelpivot.cli.packages import show_packages

    out = console()
    for blocker in made.blockers:
        out.print(f"✗ {blocker}", style="red")
    for question in made.questions:
        out.print(f"? {question.text} (consent id: {question.id})", style="yellow")
    for warning in made.warnings:
        out.print(f"! {warning}", style="yellow")
    show_packages(out, made.changes)
    held = f" against {made.environment}" if made.environment else ", nothing to hold it against"
    where = f"; {'proved' if made.is_proved else 'would lie'} in {made.candidate}" if made.candidate else ""
    out.print(
        f"{made.verdict.replace('_', ' ')}: {counted(len(made.changes), 'package changes', 'packages change')}{held}{where} ({made.read_s:.1f} s)"
    )


@env.command("list")
def list_environments(as_json: AsJson = False) -> None:
    """Every environment on this host: whether its proof holds, who needs it, what it takes on disk."""
    from modelpivot.facts.inventory import read_inventory
    from modelpivot.plans.engine_change import mark_surplus
    from modelpivot.settings import read_host_config

    host = read_host_config()
    entries = mark_surplus(read_inventory(host), host.keep_environments)
    found = Environments(root=host.environments_root, keep=host.keep_environments, environments=entries)
    answer(found) if as_json else _show_list(found)


def _show_list(found: Environments) -> None:
    from modelpivot.cli.output import table

    rows = table("environment", "packages", "state", "own", "shared", "needed by")
    for entry in found.environments:
        users = [*entry.releases, *(f"process {pid}" for pid in entry.processes)]
        needed = ", ".join(users) or ("nothing: surplus" if entry.is_surplus else "nothing: kept")
        state = "proved" if entry.is_proved else "not proved"
        rows.add_row(entry.name, str(entry.packages), state, say_bytes(entry.own_bytes), say_bytes(entry.shared_bytes), needed)
    console().print(rows)
    console().print(
        f"{found.root}: {counted(len(found.environments), 'environment')}; of those that nothing needs, the newest {found.keep} are kept"
    )


@env.command()
def export(
    environment: Annotated[str, typer.Argument(help="Name (modelpivot env list) or path of an environment.")],
    to: Annotated[Path, typer.Option("--to", help="New or empty folder.")],
    as_json: AsJson = False,
) -> None:
    """Pack everything to make an environment again without network: wheels, lock, provenance."""
    from modelpivot.cli.told import Told
    from modelpivot.operations.export import export_environment
    from modelpivot.settings import read_host_config

    host = read_host_config()
    path = Path(environment) if "/" in environment else host.environments_root / environment
    with Told("export") as tell:
        made = export_environment(host, path.absolute(), to, tell)
    if as_json:
        answer(made)
    else:
        console().print(
            f"{counted(made.packages, 'package')}, {say_bytes(made.size_bytes)}, in {made.path}; modelpivot env restore {made.path} makes it again"
        )


@env.command()
def restore(folder: Annotated[Path, typer.Argument(help="What env export wrote.")], as_json: AsJson = False) -> None:
    """Make and prove an environment from an export, without network; nothing to do when it stands."""
    from modelpivot.cli.told import Told
    from modelpivot.operations.export import read_export, restore_environment
    from modelpivot.recipes import read_engine
    from modelpivot.settings import read_host_config

    host, engine = read_host_config(), read_engine(read_export(folder).engine)
    with Told("install") as tell:
        proof = restore_environment(host, folder, engine, tell)
    answer(proof) if as_json else console().print(f"{proof.engine} {proof.engine_version} proved in {proof.path}")
