"""Measure what serves now, with a recipe's workloads, and hold it against its baseline on this host.

Holds the host, since nothing may change beside a measurement; stops the engine only where more than one start is asked for.
"""

from prefect import State, flow

from flows import tasks
from flows.approval import ask
from flows.asking import about_starts
from flows.carry import Ending, carry_out, held_host
from flows.choosing import choose_served
from flows.forms import WHAT_SERVES, HostBlock, ServedRecipe, name_run
from flows.queueing import is_deployed
from modelpivot.errors import GateFailed, PreconditionError
from modelpivot.models.counted import counted
from modelpivot.models.release import Release
from modelpivot.stages.context import Context
from modelpivot.state.releases import read_current


@flow(name="benchmark", flow_run_name=name_run)
def benchmark(recipe: ServedRecipe = WHAT_SERVES, starts: int = 1, agreed: bool = False, host: HostBlock = None) -> State[None]:
    """Measure the model that serves now: tokens per second, time to the first token, against floors and baseline. It goes on serving.

    Args:
        recipe: Whose workloads, floors and thresholds; those of what serves unless another one is named.
        starts: In how many starts of the engine it is measured. More than one tells noise from loss, and costs a downtime each.
        agreed: Yes, stop and start the engine where starts is more than one. Off: the run asks, and waits for the answer.
        host: The GPU host; left out, the worker's own.
    """

    def body(context: Context) -> Ending:
        with held_host(context):
            return _benchmark(context, recipe, starts, agreed)

    return carry_out("benchmark", recipe, host, None, body)


def _benchmark(context: Context, name: str, starts: int, agreed: bool) -> Ending:
    recipe, release = choose_served(context, name), read_current(context.state)
    if release is None:
        raise PreconditionError("nothing is served by modelpivot on this host", hint="run a recipe first")
    if starts > 1 and not agreed:
        _ask(context, release, starts)
    checks = tasks.measure_served(context, release, recipe, starts)
    if failed := [str(check) for check in checks if not check.passed]:
        words = f"{release.id} is not as it should be: {'; '.join(failed)}"
        raise GateFailed(words, failed=failed, gate="benchmark", hint="the report says what differs")
    return Ending("measured", f"{release.id} was measured: {counted(len(checks), 'check')} passed")


def _ask(context: Context, release: Release, starts: int) -> None:
    if not is_deployed():
        raise PreconditionError(
            f"{starts} starts mean {counted(starts - 1, 'downtime')}, and nobody agreed", hint="start it again with agreed switched on"
        )
    ask(context, about_starts(release.id, starts))
