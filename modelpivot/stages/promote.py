"""Keep the release that serves unconfirmed."""

from modelpivot.errors import PreconditionError
from modelpivot.models.cutover import Cutover
from modelpivot.stages.context import Context
from modelpivot.stages.standing import settle_standing
from modelpivot.stages.switch import follow_switch, is_closed
from modelpivot.stages.told import told
from modelpivot.state.cutovers import ask_decision, read_cutover


def promote(context: Context, *, reason: str = "promoted") -> Cutover:
    """The closed switch: `outcome` says whether it was promoted. PreconditionError when no switch is open."""
    cutover = read_cutover(context.state)
    if cutover is None:
        raise PreconditionError("no switch is open on this host, there is nothing to promote", hint="modelpivot status tells what serves")
    if cutover.trial:
        raise PreconditionError(
            f"{cutover.to_release} is only tried, there is nothing to promote",
            hint="wait for the trial's end; its result names what to run",
        )
    with told(context.journal, "promote", cutover.to_release) as (_, ending):
        ask_decision(context.state, "promote", reason=reason)
        closed = follow_switch(context, cutover, until=is_closed)
        ending.finish(f"{cutover.to_release}: {closed.outcome}")
    settle_standing(context, closed)
    return closed
