"""Prove the weights of a recipe on this host: every file against the manifest, headers against the index, the suite over the shard table.

Reads only, beside receipts; needs the Hub for the manifest, and no lock.
"""

from functools import partial

from prefect import State, flow

from flows import tasks
from flows.carry import Ending, carry_out
from flows.choosing import choose_served
from flows.forms import WHAT_SERVES, HostBlock, HubBlock, ServedRecipe, name_run
from flows.stage import decide
from modelpivot.models.counted import counted
from modelpivot.stages.context import Context


@flow(name="check-weights", flow_run_name=name_run)
def check_weights(recipe: ServedRecipe = WHAT_SERVES, full: bool = False, host: HostBlock = None, hub: HubBlock = None) -> State[None]:
    """Prove that a recipe's weights are complete and intact on this host. Nothing is changed.

    Args:
        recipe: Whose weights; those of what serves unless another one is named.
        full: Hash every file again, whatever its receipt says.
        host: The GPU host; left out, the worker's own.
        hub: The model Hub and its token; left out, what the worker's environment says.
    """
    return carry_out("check-weights", recipe, host, hub, partial(_check_weights, recipe_name=recipe, full=full))


def _check_weights(context: Context, recipe_name: str, full: bool) -> Ending:
    plan = decide(context, choose_served(context, recipe_name))
    checks = tasks.check_shards(context, plan, full)
    return Ending("checked", f"{counted(len(checks), 'check')} passed over the weights of {plan.recipe.model.repo}")
