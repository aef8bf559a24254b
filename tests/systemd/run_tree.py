"""What stands around a switch, as stand-ins: a command that started a flow, its worker and a server, and the flow that carries the run.

python -m tests.systemd.run_tree TO FROM promote|return|stay RUN_ID

The flow is real as far as the switch goes: it starts it, follows it and decides. The others only are there, and die.
"""

import json
import os
import subprocess
import sys

from modelpivot.settings import read_host_config
from modelpivot.stages.context import open_context
from modelpivot.stages.promote import promote
from modelpivot.stages.switch import follow_switch, is_closed, is_unconfirmed, start_switch
from modelpivot.state.cutovers import ask_decision
from modelpivot.state.releases import read_release
from tests.systemd.cutting import TREE


def main() -> None:
    """As the command: start the others, tell who they are, and be the flow."""
    others = [subprocess.Popen(["sleep", "infinity"]) for _ in ("command", "worker", "server")]
    TREE.with_suffix(".new").write_text(json.dumps([os.getpid(), *(process.pid for process in others)]))
    TREE.with_suffix(".new").rename(TREE)
    try:
        flow(*sys.argv[1:5])
    finally:
        for process in others:
            process.kill()
            process.wait()


def flow(to_id: str, from_id: str, decision: str, run_id: str) -> None:
    """Switch, then decide as asked."""
    context = open_context(read_host_config(), run_id=run_id)
    cutover = start_switch(context, to=read_release(context.state, to_id), frm=read_release(context.state, from_id))
    cutover = follow_switch(context, cutover, until=is_unconfirmed)
    if is_closed(cutover):
        return
    if decision == "promote":
        promote(context)
        return
    if decision == "return":
        ask_decision(context.state, "return", reason="the measurement says so")
    follow_switch(context, cutover, until=is_closed)


if __name__ == "__main__":
    main()
