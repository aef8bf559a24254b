"""What was staged, for the run that serves it later: a cutover needs neither Hub nor index, and serves what was proved, wherever a branch stands by then."""

from modelpivot.files import read_model, write_model
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.models.staged import Staged
from modelpivot.stages.context import Context
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import list_runs


def note_staged(context: Context, plan: Plan, release: Release) -> None:
    """Note in the run that this candidate of the plan's recipe is complete; nothing to do for a plan without packages."""
    if plan.resolution is None:
        return
    recipe = plan.recipe
    staged = Staged(
        release=release.id,
        name=recipe.name,
        source=recipe.model,
        engine=recipe.engine,
        commit=release.commit,
        resolution=plan.resolution.digest,
    )
    write_model(context.run.staged, staged)


def find_staged(state: StatePaths, recipe: Recipe) -> Staged | None:
    """What was staged last for the same words of this recipe, model and engine, and is still there; None: nothing was."""
    wanted = (recipe.name, recipe.model, recipe.engine)
    for run in list_runs(state):
        staged = read_model(run.staged, Staged)
        if staged and (staged.name, staged.source, staged.engine) == wanted and state.release(staged.release).release.exists():
            return staged
    return None


def pin_staged(context: Context, recipe: Recipe) -> Recipe:
    """The recipe at the commit and the packages that were staged last for it, which goes into the journal; as it is when nothing was."""
    staged = find_staged(context.state, recipe)
    if staged is None:
        return recipe
    context.journal("log", f"as it was staged: {recipe.model.repo} at {staged.commit} ({staged.release})")
    model = recipe.model.model_copy(update={"revision": staged.commit})
    engine = recipe.engine.model_copy(update={"resolution": staged.resolution})
    return recipe.model_copy(update={"model": model, "engine": engine})
