"""recipe new, recipe import: a first recipe from a repository, or from one that vLLM's community publishes. Written to a file or standard output."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field

from modelpivot.cli.output import AsJson, answer, log_console
from modelpivot.models.frozen import Frozen

if TYPE_CHECKING:
    from modelpivot.models.recipe import Source

recipe = typer.Typer(no_args_is_help=True, help="Write recipes.")
MOST_GPUS = 1024
Out = Annotated[Path | None, typer.Option("--out", "-o", help="File to write; left out, standard output.")]


class Written(Frozen):
    """What was written."""

    recipe: str
    """The YAML text."""
    path: Path | None
    not_taken: list[str] = Field(default_factory=list)
    """What the source says and a recipe here does not, by key."""


def add_to(app: typer.Typer) -> None:
    """Mount the commands as a group."""
    recipe.command("new")(new)
    recipe.command("import")(import_)
    app.add_typer(recipe, name="recipe")


def new(
    repo: Annotated[str, typer.Argument(help="org/name on the Hub.")],
    revision: Annotated[str, typer.Option(help="Branch, tag or commit.")] = "main",
    gpus: Annotated[
        int | None, typer.Option(min=1, max=MOST_GPUS, help="GPUs that the model gets; left out, as many as it needs of this host's.")
    ] = None,
    engine: Annotated[str, typer.Option(help="An entry of engines.yaml.")] = "vllm",
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """A first recipe from a repository's config, card and the rules, with the reason beside each value."""
    from modelpivot.errors import PreconditionError
    from modelpivot.facts.everything import HOST_S, read_host_facts
    from modelpivot.facts.model import read_model_facts
    from modelpivot.models.frozen import Unread
    from modelpivot.plans.first_recipe import first_recipe
    from modelpivot.plans.recipe_text import recipe_text
    from modelpivot.recipes import read_engine
    from modelpivot.settings import read_host_config
    from modelpivot.state.paths import StatePaths

    host, chosen = read_host_config(), read_engine(engine)
    source = read_source(repo, revision)
    model = read_model_facts(host, source)
    if isinstance(model.manifest, Unread):
        raise PreconditionError(model.manifest.unread, hint="a first recipe needs the repository's file list and config.json")
    facts = read_host_facts(host, StatePaths(host.state_dir), until=time.monotonic() + HOST_S)
    first = first_recipe(source, model, facts, chosen, gpus=gpus)
    head = ["A first recipe: read it, then `modelpivot plan` says what it would do on a host."]
    write(recipe_text(first.recipe, first.reasons, head=head), out, [], as_json=as_json)


def import_(
    file: Annotated[Path, typer.Argument(help="A recipe of vllm-project/recipes, YAML.")],
    variant: Annotated[str | None, typer.Option(help="One of its variants; left out, default.")] = None,
    hardware: Annotated[
        str | None, typer.Option(help="The card's name in the file, such as rtx_pro_6000, for what the file says of it.")
    ] = None,
    strategy: Annotated[str | None, typer.Option(help="single_node_tp, single_node_tep or single_node_dep.")] = None,
    gpus: Annotated[int | None, typer.Option(min=1, max=MOST_GPUS, help="GPUs that the model gets; left out, what the file says.")] = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """A recipe of vLLM's community as one of ours; what is not taken over is listed by its key."""
    from modelpivot.plans.community import import_recipe
    from modelpivot.plans.recipe_text import recipe_text
    from modelpivot.recipes import load_yaml, read_engine

    document = load_yaml(file)
    tested = read_engine("vllm").tested
    imported = import_recipe(document, file.stem, variant=variant, hardware=hardware, strategy=strategy, gpus=gpus, tested=tested)
    head = ["From a recipe of vLLM's community; what stands beside a value is the key it comes from."]
    write(recipe_text(imported.recipe, imported.reasons, head=head), out, imported.not_taken, as_json=as_json)


def read_source(repo: str, revision: str) -> "Source":
    """The repository as a recipe names it. UsageError for a name that is none."""
    from pydantic import ValidationError

    from modelpivot.errors import UsageError
    from modelpivot.models.recipe import Source

    try:
        return Source(repo=repo, revision=revision)
    except ValidationError as error:
        raise UsageError(f"{repo}: expected org/name", hint="the name stands at the top of the model's page") from error


def write(text: str, out: Path | None, not_taken: list[str], *, as_json: bool) -> None:
    """The recipe to its file, or standard output; what was not taken over to standard error."""
    from modelpivot.files import write_named

    if out is not None:
        write_named(out, text)
    if as_json:
        answer(Written(recipe=text, path=out, not_taken=not_taken))
        return
    if out is None:
        sys.stdout.write(text)
    for line in not_taken:
        log_console().print(f"not taken over: {line}", soft_wrap=True)
