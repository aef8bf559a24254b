"""The recipe of one run: the one that the form names, or that of what serves, with what the form changes."""

from flows.forms import WHAT_SERVES, Overrides
from modelpivot.errors import PreconditionError
from modelpivot.files import write_model
from modelpivot.models.recipe import Recipe
from modelpivot.plans.overrides import override, say_overrides
from modelpivot.recipes import read_recipe
from modelpivot.stages.context import Context
from modelpivot.state.releases import read_current, read_recipe_of


def choose_recipe(context: Context, name: str, overrides: Overrides) -> Recipe:
    """The recipe of this run; what differs from the file goes into the journal, and to the plan. UsageError when there is none of that name."""
    for line in say_overrides(overrides):
        context.journal("log", f"for this run: {line}")
    write_model(context.run.overrides, overrides)
    return override(read_recipe(name), overrides)


def choose_served(context: Context, name: str) -> Recipe:
    """A recipe by name; for `what serves` the current release's, at the commit that it serves. PreconditionError when nothing serves, or what
    does was made of no recipe that is known here."""
    if name != WHAT_SERVES:
        return read_recipe(name)
    release = read_current(context.state)
    if release is None:
        raise PreconditionError("nothing is served by modelpivot on this host", hint="name a recipe, or run one first")
    recipe = read_recipe_of(context.state, release)
    return recipe.model_copy(update={"model": recipe.model.model_copy(update={"revision": release.commit})})
