"""The last word on a candidate that answers: measured, held against the gate, and, where the run says so, a person's."""

from flows import tasks
from flows.approval import ask, require_person
from flows.asking import about_promotion
from flows.carry import Ending
from flows.forms import Promotion
from flows.hooks import run_hooks
from modelpivot.errors import PivotError
from modelpivot.models.benchmark import Passed
from modelpivot.models.cutover import Cutover
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.stages.context import Context
from modelpivot.stages.passed import find_passed, note_passed
from modelpivot.state.releases import read_release


def require_askable(promotion: Promotion) -> None:
    """PreconditionError in the first second when a person is to decide and nobody can be asked; nothing to do for the gate."""
    if promotion == "person":
        require_person()


def confirm(context: Context, recipe: Recipe, serving: Cutover, promotion: Promotion = "gate") -> Ending:
    """Measure the candidate that answers, and promote it; anything that says no sends the switch back, and is raised."""
    release = read_release(context.state, serving.to_release)
    try:
        passed = find_passed(context, serving) or measure(context, recipe, release, serving)
        if promotion == "person":
            ask(context, about_promotion(serving, release.endpoint.base_url, passed.measurements, passed.checks))
    except Exception as error:
        tasks.go_back(context, serving, getattr(error, "message", f"{type(error).__name__}: {error}"))
        raise
    tasks.promote(context)
    return Ending("promoted", f"{serving.to_release} serves at {release.endpoint.base_url}{_run_after(context, recipe)}")


def _run_after(context: Context, recipe: Recipe) -> str:
    """Run the hooks after the promotion. Empty, or what failed, for the end of a sentence: the new model is current, and no hook takes it back."""
    try:
        run_hooks(context, "after", [*recipe.hooks.after, *context.host.hooks.after], deadline_s=recipe.deadlines.hooks_s)
    except (PivotError, OSError) as error:
        message = getattr(error, "message", f"the hooks after did not run: {error}")
        context.journal("warning", f"{message}; the new model is promoted all the same")
        return f"; {message}"
    return ""


def measure(context: Context, recipe: Recipe, release: Release, serving: Cutover) -> Passed:
    """Benchmark and gate; the receipt lies beside the switch. GateFailed when the gate says no."""
    measurements = tasks.benchmark(context, release, recipe)
    return note_passed(context, serving, measurements, tasks.gate(context, recipe, measurements, release))
