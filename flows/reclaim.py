"""Make room: what no release needs goes, when it is agreed to. An act of its own, never part of a pivot. Needs no recipe and no Hub."""

from prefect import State, flow

from flows import tasks
from flows.approval import ask
from flows.asking import about_reclaim
from flows.carry import Ending, carry_out
from flows.forms import HostBlock, name_run
from flows.queueing import is_deployed
from modelpivot.models.reclaim import Kind, ReclaimPlan
from modelpivot.stages.context import Context
from modelpivot.stages.reclaim import Agreed, require_all_gone, require_offered, say_done, say_plan


@flow(name="reclaim", flow_run_name=name_run)
def reclaim(
    dry_run: bool = True,
    agreed: bool = False,
    named: list[str] = [],  # noqa: B006 - a form shows it as an empty list
    only: list[Kind] = [],  # noqa: B006
    host: HostBlock = None,
) -> State[None]:
    """Free disk space: old weights, environments, views, compiled kernels, left-over downloads, cache that nothing references.

    Args:
        dry_run: Show what may go and what stays, change nothing.
        agreed: Yes to everything that asks for no more than a yes; weights that exist nowhere else are none of it. Off: the run shows all of it, and asks.
        named: Ids of things that go only by their name, as a dry run shows them. With agreed off they are part of the question.
        only: These kinds alone; empty: all.
        host: The GPU host; left out, the worker's own.
    """

    def body(context: Context) -> Ending:
        made = tasks.plan_reclaim(context, only)
        if dry_run:
            return Ending("planned", say_plan(made))
        is_agreed = agreed or _asks(context, made, named)
        done = tasks.reclaim(context, made, Agreed(is_agreed=is_agreed, named=named))
        require_all_gone(done)
        return Ending("reclaimed", say_done(done))

    return carry_out("reclaim", "reclaim", host, None, body)


def _asks(context: Context, made: ReclaimPlan, named: list[str]) -> bool:
    """Whether a person said yes to all that would go, what the form names with it; where nobody can be asked, the stage decides."""
    require_offered(made, Agreed(named=named))
    if not is_deployed() or not made.agreed(is_agreed=True, named=named):
        return False
    ask(context, about_reclaim(made, named))
    return True
