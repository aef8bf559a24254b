"""Try the newest engine on this host's model, and put everything back: the nightly test before anybody upgrades.

Runs on the host's worker by a schedule, or in a child of `modelpivot upgrade-test`. What serves is stopped in the host's window only, once.
"""

from functools import partial
from typing import Literal

from prefect import State, flow

from flows import tasks
from flows.carry import Ending, carry_out, held_host
from flows.choosing import choose_served
from flows.forms import WHAT_SERVES, HostBlock, HubBlock, ServedRecipe, name_run
from flows.preparing import Found, prepare
from flows.taking_up import finish_dead_switch
from flows.tell import show_markdown
from flows.trying import measure_base, try_out
from flows.upgrade_markdown import upgrade_markdown
from modelpivot.models.upgrade import Asked, Channel, UpgradeResult
from modelpivot.stages.context import Context
from modelpivot.stages.upgrade import conclude


@flow(name="upgrade-test", flow_run_name=name_run)
def upgrade_test(
    recipe: ServedRecipe = WHAT_SERVES,
    channel: Channel = "stable",
    capacity: Literal["auto", "spare", "window"] = "auto",
    model: Literal["auto", "recipe", "probe"] = "auto",
    again: bool = False,
    dry_run: bool = False,
    host: HostBlock = None,
    hub: HubBlock = None,
) -> State[None]:
    """Try the newest engine with this host's model, measure it against the current one, and put the host back as it was.

    Args:
        recipe: Whose model and settings; those of what serves unless another one is named.
        channel: The newest release, pre-releases too, or the host's nightly index.
        capacity: Beside what serves, on devices that are free; or in its place, in the host's window. auto: the window where there is one.
        model: The recipe's own model, or a small probe model of its architecture. auto: its own in a window, else the probe model.
        again: Test also a version that was tested before.
        dry_run: Only read and plan; nothing is changed.
        host: The GPU host; left out, the worker's own.
        hub: The model Hub and its token; left out, what the worker's environment says.
    """
    asked = Asked(
        channel=channel, capacity=None if capacity == "auto" else capacity, subject=None if model == "auto" else model, is_again=again
    )
    body = partial(_upgrade_test, recipe_name=recipe, asked=asked, dry_run=dry_run)
    what = "upgrade-test" if recipe == WHAT_SERVES else recipe
    return carry_out("upgrade-test", what, host, hub, body)


def _upgrade_test(context: Context, recipe_name: str, asked: Asked, dry_run: bool) -> Ending:
    with held_host(context, is_recovering=True):
        finish_dead_switch(context)
        recipe = choose_served(context, recipe_name)
        newest = tasks.newest(context, recipe, asked.channel)
        found = prepare(context, recipe, newest, asked, is_dry=dry_run)
        if found.test is None:
            return Ending("planned", found.result.message) if found.is_planned else _end(context, found, found.result)
        tried = try_out(found.test)
    measure_base(found.test, tried)
    changes = {
        "verdict": tried.said.verdict,
        "message": f"{newest.version} against {newest.current}: {tried.said.message}",
        "cause": tried.cause,
        "comparison": tried.comparison,
        "relaxed": tried.relaxed,
        "starts": tried.rounds,
    }
    return _end(context, found, found.result.model_copy(update=changes))


def _end(context: Context, found: Found, result: UpgradeResult) -> Ending:
    result = conclude(context, result, found.pinned)
    show_markdown(f"upgrade {result.recipe}", upgrade_markdown(result), title=f"Upgrade test of {result.recipe}: {result.verdict}")
    return Ending(result.verdict, result.message)
