"""The clean slate: stop what is named, prove GPUs and ports free, reclaim what is agreed. Leaves the host without a model when told to."""

from prefect import State, flow

from flows import tasks
from flows.approval import ask
from flows.asking import about_cleanup
from flows.carry import Ending, carry_out
from flows.forms import HostBlock, name_run
from flows.queueing import is_deployed
from modelpivot.models.cleanup import CleanupPlan
from modelpivot.models.reclaim import Kind
from modelpivot.stages.cleanup import say_cleaned, say_cleanup
from modelpivot.stages.context import Context
from modelpivot.stages.reclaim import Agreed, require_offered


@flow(name="cleanup", flow_run_name=name_run)
def cleanup(
    stop: list[str] = [],  # noqa: B006 - a form shows it as an empty list
    dry_run: bool = True,
    agreed: bool = False,
    named: list[str] = [],  # noqa: B006
    only: list[Kind] = [],  # noqa: B006
    host: HostBlock = None,
) -> State[None]:
    """Stop what you name, prove GPUs and ports free, show disk, old weights and cache, and free what you agree to.

    Args:
        stop: Release or service to stop, by name. Nothing serves then, until somebody starts it again (rollback does).
        dry_run: Show all of it, change nothing.
        agreed: Yes, stop what is named, and let everything go that asks for no more than a yes. Off: the run shows all of it, and asks.
        named: Ids of things that go only by their name, as a dry run shows them. With agreed off they are part of the question.
        only: These kinds alone; empty: all.
        host: The GPU host; left out, the worker's own.
    """

    def body(context: Context) -> Ending:
        made = tasks.plan_cleanup(context, stop, only)
        if dry_run:
            return Ending("planned", say_cleanup(made))
        is_agreed = agreed or _asks(context, made, named)
        done = tasks.cleanup(context, made, Agreed(is_agreed=is_agreed, named=named), stop, only)
        return Ending("cleaned", say_cleaned(done))

    return carry_out("cleanup", "cleanup", host, None, body)


def _asks(context: Context, made: CleanupPlan, named: list[str]) -> bool:
    """Whether a person said yes to all that would stop and go; where nobody can be asked, or something blocks it, the stage decides."""
    if made.blockers or not is_deployed():
        return False
    require_offered(made.reclaim, Agreed(named=named))
    if not made.to_stop and not made.reclaim.agreed(is_agreed=True, named=named):
        return False
    ask(context, about_cleanup(made, named))
    return True
