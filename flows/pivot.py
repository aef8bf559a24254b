"""Move this host to another model: stage beside the running service, prove, switch, measure, promote.

Runs on the host's worker, or in a child of `modelpivot run`. A run that dies is run again: facts are read anew, what is there is found.
"""

from prefect import State, flow

from flows.carry import Ending, carry_out
from flows.choosing import choose_recipe
from flows.cutover import move
from flows.forms import AS_THE_RECIPE_SAYS, HostBlock, HubBlock, Overrides, Promotion, RecipeName, name_run
from flows.plan import plan_only
from modelpivot.stages.context import Context


@flow(name="pivot", flow_run_name=name_run)
def pivot(
    recipe: RecipeName,
    dry_run: bool = True,
    agreed: bool = False,
    promotion: Promotion = "gate",
    overrides: Overrides = AS_THE_RECIPE_SAYS,
    host: HostBlock = None,
    hub: HubBlock = None,
) -> State[None]:
    """Move this host to another model. The old one serves until the switch, and is back by itself when the new one is not good.

    Args:
        recipe: What to serve and how.
        dry_run: Only read and plan; nothing is changed.
        agreed: Answer every question of the plan with yes. Off: the run asks, and waits for the answer.
        promotion: Who has the last word on the new model: the gate alone, or a person who is asked after it. No answer: the old one comes back.
        overrides: What this run does differently from its recipe. All of it may be left empty.
        host: The GPU host; left out, the worker's own.
        hub: The model Hub and its token; left out, what the worker's environment says.
    """

    def body(context: Context) -> Ending:
        chosen = choose_recipe(context, recipe, overrides)
        return plan_only(context, chosen) if dry_run else move(context, chosen, agreed, promotion, is_staged=False)

    return carry_out("pivot", recipe, host, hub, body)
