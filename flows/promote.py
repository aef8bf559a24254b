"""Decide on the candidate that an open switch serves unconfirmed: keep it, or send it back now. Needs no recipe and no Hub.

For whoever found the switch open: a run that was to ask its person asks by itself (`promotion` of pivot).
"""

from typing import Literal

from prefect import State, flow

from flows import tasks
from flows.approval import hear
from flows.asking import about_promotion
from flows.carry import Ending, carry_out
from flows.earlier import find_asked_switch
from flows.forms import HostBlock, name_run
from flows.queueing import is_deployed
from flows.settling import settle
from modelpivot.errors import PreconditionError, SwitchFailed
from modelpivot.models.cutover import Cutover
from modelpivot.stages.context import Context
from modelpivot.stages.passed import find_passed
from modelpivot.stages.rollback import is_rolled_back, say_kept, say_rolled_back
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.releases import read_release


@flow(name="promote", flow_run_name=name_run)
def promote(decision: Literal["promote", "return"] = "promote", agreed: bool = False, host: HostBlock = None) -> State[None]:
    """Keep the new model that serves unconfirmed, or send it back. Without an answer the switch decides by itself at its deadline.

    Args:
        decision: promote keeps the new model. return brings the old one back now, which stops what serves for the minutes of a switch.
        agreed: Yes, do it. Off: the run shows what was measured, and asks.
        host: The GPU host; left out, the worker's own.
    """

    def body(context: Context) -> Ending:
        if over := find_asked_switch(context):
            return settle(context, over)
        cutover = require_unconfirmed(context)
        if decision == "return" or not (agreed or _is_wanted(context, cutover)):
            return _send_back(context, cutover)
        tasks.promote(context)
        return Ending("promoted", f"{cutover.to_release} is kept")

    return carry_out("promote", "promote", host, None, body)


def require_unconfirmed(context: Context) -> Cutover:
    """The open switch whose candidate waits for a word; PreconditionError without one."""
    cutover = read_cutover(context.state)
    if cutover is None or cutover.phase != "unconfirmed":
        found = "no switch is open" if cutover is None else f"the open switch is {cutover.phase}"
        raise PreconditionError(f"there is nothing to decide on this host: {found}", hint="modelpivot status tells what serves")
    return cutover


def _is_wanted(context: Context, cutover: Cutover) -> bool:
    """Whether a person who reads what was measured keeps the new model."""
    if not is_deployed():
        raise PreconditionError("nobody agreed to keep the new model", hint="start it again with agreed switched on")
    passed, release = find_passed(context, cutover), read_release(context.state, cutover.to_release)
    context.journal("log", f"the switch of run {cutover.run_id} waits for a word", cutover_run=cutover.run_id)
    measurements, checks = (passed.measurements, passed.checks) if passed else ([], [])
    return hear(context, about_promotion(cutover, release.endpoint.base_url, measurements, checks)).agreed


def _send_back(context: Context, cutover: Cutover) -> Ending:
    closed = tasks.go_back(context, cutover, "a person said so (promote)")
    if not is_rolled_back(context, closed):
        raise SwitchFailed(say_kept(closed), step=closed.phase, cause=closed.cause)
    return Ending("rolled_back", say_rolled_back(closed))
