"""Preflight: read everything a plan is made from. Changes nothing; a fact that cannot be read is kept with its reason."""

from modelpivot.facts.everything import read_facts
from modelpivot.models.counted import counted
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.recipe import Recipe
from modelpivot.models.size import say_bytes
from modelpivot.plans.foreign import find_foreign_engines
from modelpivot.recipes import read_engine
from modelpivot.stages.context import Context
from modelpivot.stages.told import told


def preflight(context: Context, recipe: Recipe) -> Facts:
    """Facts of host, model and engine, read in parallel. UsageError when the recipe names an engine that is not there."""
    engine = read_engine(recipe.engine.name)
    with told(context.journal, "preflight", f"reading {context.host.name}, {recipe.model.repo} and {engine.distribution}") as (
        tell,
        ending,
    ):
        facts = read_facts(context.host, context.state, recipe, engine)
        for what, unread in unread_facts(facts).items():
            tell("warning", f"{what} is {unread}")
        ending.finish(say_facts(facts), read_s=facts.read_s)
    return facts


def unread_facts(facts: Facts) -> dict[str, Unread]:
    """The facts that could not be read, by the name a person knows them by."""
    host, model = facts.host, facts.model
    named = {
        "list of GPUs": host.gpus,
        "available memory": host.memory_bytes,
        "list of listeners": host.listeners,
        "list of files on the Hub": model.manifest,
        "config.json": model.config,
        "state of the weights on disk": model.on_disk,
        "resolution of the engine": facts.engine.resolution,
        **{f"free space {index}": disk for index, disk in enumerate(host.disks)},
    }
    return {what: fact for what, fact in named.items() if isinstance(fact, Unread)}


def say_facts(facts: Facts) -> str:
    """One line for a person: what serves, what is there, what comes."""
    host, manifest = facts.host, facts.model.manifest
    serving = f"{host.current.id} serves" if host.current and host.current_answers is True else "nothing of ours answers"
    serving += "".join(f"; {engine.unit}, not made by modelpivot, serves" for engine in find_foreign_engines(host))
    gpus = "GPUs unread" if isinstance(host.gpus, Unread) else counted(len(host.gpus.gpus), "GPU")
    files = "files unread" if isinstance(manifest, Unread) else f"{counted(len(manifest.files), 'file')}, {say_bytes(manifest.bytes_total)}"
    return f"{serving}; {gpus}; the model has {files}"
