"""A run that only switches, in a process of its own, for tests that kill it: python -m tests.runner TO FROM|- [promote|stay|trial]."""

import sys
import time

from modelpivot.models.cutover import Trial
from modelpivot.settings import read_host_config
from modelpivot.stages.context import open_context
from modelpivot.stages.promote import promote
from modelpivot.stages.switch import follow_switch, is_closed, is_unconfirmed, start_switch
from modelpivot.state.releases import read_release


def main() -> None:
    """Switch, then promote, or stay there until somebody else decides."""
    to_id, from_id, what = sys.argv[1:4]
    context = open_context(read_host_config(), name="runner", run_id="runner")
    frm = None if from_id == "-" else read_release(context.state, from_id)
    trial = Trial(turn_at=time.time() + 3600, back_by=time.time() + 3700) if what == "trial" else None
    cutover = start_switch(context, to=read_release(context.state, to_id), frm=frm, trial=trial)
    cutover = follow_switch(context, cutover, until=is_unconfirmed)
    if what == "promote" and not is_closed(cutover):
        promote(context)
    else:
        follow_switch(context, cutover, until=is_closed)


if __name__ == "__main__":
    main()
