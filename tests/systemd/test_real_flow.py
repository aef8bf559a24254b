"""A real Prefect flow under a real systemd, killed with its server and its command. A minute each, so `long`."""

import json
import signal
import sys

import pytest

from tests.lab.sandbox import Sandbox
from tests.systemd.cutting import Moment, Victims, cut_at
from tests.systemd.matrix import look_at
from tests.systemd.prefect_world import TOLD
from tests.systemd.test_faults import PROJECT
from tests.systemd.units import Units

pytestmark = [pytest.mark.prefect, pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("victims", ["tree", "all"])
def test_flow_server_and_command_killed_while_the_new_model_loads(own_machine: Sandbox, victims: Victims) -> None:
    """SIGKILL of flow, Prefect server and command together, with and without the switch: the old release answers, alone, by itself."""
    units = Units(own_machine, patience_s=900)
    environment = f"PYTHONPATH={PROJECT} HOME=/var/tmp"
    own_machine.shell(f"cd /; {environment} setsid {sys.executable} -m tests.systemd.prefect_world >/run/world.log 2>&1 </dev/null &")
    look = f"cat {TOLD} 2>/dev/null || pgrep -f '[t]ests.systemd.prefect_world' >&2 || (tail -30 /run/world.log >&2; exit 1)"
    words = units.wait(lambda: own_machine.shell(look), what="the flow")
    run_id, old = json.loads(words)
    cut = own_machine.call(cut_at, units.state, Moment("event", "ready started"), old, "", run_id, victims, signal.SIGKILL)
    assert cut and cut.phase == "readying"
    seen = units.wait(
        lambda: (it := own_machine.call(look_at, units.state, run_id)).is_over and not it.is_open and it, what="the host to end"
    )
    assert seen and (seen.current, seen.is_proved) == (old, True)
    assert len(cut.victims) >= 3 + (victims == "all")
