"""Say what a pivot would do, why, and everything that stands in its way. Reads only; needs no lock."""

from functools import partial

from prefect import State, flow

from flows.carry import Ending, carry_out
from flows.forms import HostBlock, HubBlock, RecipeName, name_run
from flows.stage import decide
from modelpivot.recipes import read_recipe
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_clear, say_plan


@flow(name="plan", flow_run_name=name_run)
def plan(recipe: RecipeName, host: HostBlock = None, hub: HubBlock = None) -> State[None]:
    """What a pivot would do, why, and everything that stands in its way. Changes nothing.

    Args:
        recipe: What to serve and how.
        host: The GPU host; left out, the worker's own.
        hub: The model Hub and its token; left out, what the worker's environment says.
    """
    return carry_out("plan", recipe, host, hub, partial(_plan, recipe_name=recipe))


def _plan(context: Context, recipe_name: str) -> Ending:
    made = decide(context, read_recipe(recipe_name))
    require_clear(made, is_agreed=True)
    return Ending("no_change" if made.is_no_change else "planned", say_plan(made))
