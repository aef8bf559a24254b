"""Stage a recipe beside the running service: decide, install and download, view, checks. Changes nothing that serves.

Runs on the host's worker; may be run again at any time, what is there is found and proved.
"""

from prefect import State, flow

from flows import tasks
from flows.agreeing import agree
from flows.carry import Ending, carry_out, held_host
from flows.choosing import choose_recipe
from flows.forms import AS_THE_RECIPE_SAYS, HostBlock, HubBlock, Overrides, RecipeName, name_run
from flows.hooks import run_hooks
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.stages.context import Context
from modelpivot.stages.staged import note_staged
from modelpivot.stages.view import refreeze
from modelpivot.state.releases import keep_recipe


@flow(name="stage", flow_run_name=name_run)
def stage(
    recipe: RecipeName,
    agreed: bool = False,
    overrides: Overrides = AS_THE_RECIPE_SAYS,
    host: HostBlock = None,
    hub: HubBlock = None,
) -> State[None]:
    """Bring in and prove everything a pivot needs, beside what serves. Nothing that serves is changed.

    Args:
        recipe: What to serve and how.
        agreed: Answer every question of the plan with yes. Off: the run asks, and waits for the answer.
        overrides: What this run does differently from its recipe.
        host: The GPU host; left out, the worker's own.
        hub: The model Hub and its token; left out, what the worker's environment says.
    """

    def body(context: Context) -> Ending:
        return _stage(context, choose_recipe(context, recipe, overrides), agreed)

    return carry_out("stage", recipe, host, hub, body)


def decide(context: Context, recipe: Recipe) -> Plan:
    """Facts, and the plan made of them. Changes nothing."""
    return tasks.plan(context, recipe, tasks.preflight(context, recipe))


def stage_candidate(context: Context, plan: Plan) -> Release:
    """Everything before the switch: hooks, environment and weights, view, checks. Each stage finds what is already there."""
    run_hooks(context, "before", [*context.host.hooks.before, *plan.recipe.hooks.before], deadline_s=plan.recipe.deadlines.hooks_s)
    tasks.install_and_download(context)
    release = tasks.patch_config(context, plan)
    tasks.check_shards(context, plan)
    tasks.check_engine(context, release)
    note_staged(context, plan, release)
    return release


def end_unchanged(context: Context, plan: Plan) -> Ending:
    """The end of a run to what serves already; settings that make no other release go into its record, the recipe beside it. The host is held."""
    if plan.candidate is not None:
        keep_recipe(context.state, plan.candidate.id, plan.recipe)
    names = refreeze(context, plan)
    kept = f"; its record has the recipe's {', '.join(names)} now, which count from its next switch" if names else ""
    return Ending("no_change", f"{plan.from_release} serves this recipe already{kept}")


def _stage(context: Context, recipe: Recipe, agreed: bool) -> Ending:
    with held_host(context):
        plan = decide(context, recipe)
        agree(context, plan, is_agreed=agreed)
        if plan.is_no_change:
            return end_unchanged(context, plan)
        release = stage_candidate(context, plan)
    return Ending("staged", f"{release.id} is complete beside {plan.from_release or 'nothing'}; a cutover or pivot serves it")
