"""Follow a switch from a task: its steps go to this run's log as they come, its end becomes a result or an error."""

from collections.abc import Callable

from flows.tell import PrefectListener
from modelpivot.errors import PreconditionError, SwitchFailed
from modelpivot.models.cutover import Cutover
from modelpivot.stages.context import Context
from modelpivot.stages.standing import settle_standing
from modelpivot.stages.switch import follow_switch
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.paths import RunPaths, StatePaths
from modelpivot.state.runs import read_events


class Relay:
    """Hands on what the switch tells the journal of the run that began it, from now on."""

    def __init__(self, context: Context, run: RunPaths) -> None:
        self._run, self._listen = run, PrefectListener()
        _, self._offset = read_events(run)

    def hand_on(self) -> None:
        """Everything told since the last call."""
        events, self._offset = read_events(self._run, self._offset)
        for event in events:
            self._listen(event)


def follow(context: Context, cutover: Cutover, relay: Relay, until: Callable[[Cutover], bool]) -> Cutover:
    """The switch as soon as `until` holds for it, or as soon as it is closed; what was measured in it has its standing then."""

    def look(now: Cutover) -> bool:
        relay.hand_on()
        return until(now)

    try:
        followed = follow_switch(context, cutover, until=look)
    finally:
        relay.hand_on()
    settle_standing(context, followed)
    return followed


def is_open(state: StatePaths, cutover: Cutover) -> bool:
    """Whether this very switch still goes on."""
    now = read_cutover(state)
    return now is not None and now.id == cutover.id


def require_open(cutover: Cutover) -> Cutover:
    """The switch while its candidate answers; PreconditionError when it never began, SwitchFailed with its own words when it is over."""
    if cutover.outcome == "not_started":
        raise PreconditionError(f"the switch did not begin: {cutover.reason}", hint="nothing was touched; mend it, then run it again")
    if cutover.outcome is not None:
        raise SwitchFailed(cutover.reason or f"the switch ended {cutover.outcome}", step="serve", cause=cutover.cause)
    return cutover


def require_promoted(cutover: Cutover) -> Cutover:
    """The switch whose candidate is current now; else as `require_open`."""
    return cutover if cutover.outcome == "promoted" else require_open(cutover)
