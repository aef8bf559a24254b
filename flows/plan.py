"""Say what a pivot would do, why, and everything that stands in its way. Reads only; needs no lock."""

from prefect import State, flow

from flows.carry import Ending, carry_out
from flows.choosing import choose_recipe
from flows.forms import AS_THE_RECIPE_SAYS, HostBlock, HubBlock, Overrides, RecipeName, name_run
from flows.stage import decide
from modelpivot.models.recipe import Recipe
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_none, say_plan


@flow(name="plan", flow_run_name=name_run)
def plan(recipe: RecipeName, overrides: Overrides = AS_THE_RECIPE_SAYS, host: HostBlock = None, hub: HubBlock = None) -> State[None]:
    """What a pivot would do, why, and everything that stands in its way. Changes nothing.

    Args:
        recipe: What to serve and how.
        overrides: What this run does differently from its recipe.
        host: The GPU host; left out, the worker's own.
        hub: The model Hub and its token; left out, what the worker's environment says.
    """

    def body(context: Context) -> Ending:
        return plan_only(context, choose_recipe(context, recipe, overrides))

    return carry_out("plan", recipe, host, hub, body)


def plan_only(context: Context, recipe: Recipe) -> Ending:
    """Decide and change nothing; PreconditionError with every blocker. What the plan would ask is said, and asked of nobody."""
    made = decide(context, recipe)
    require_none(made.blockers)
    return Ending("no_change" if made.is_no_change else "planned", f"{say_plan(made)}; nothing was changed")
