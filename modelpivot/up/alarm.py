"""Nothing serves, and the run that would tell Prefect is dead: then the switch, when all is over and the host is free, has it told.

Needs `client.env` of this host's folder (`modelpivot up`, or its units); without one, or with an API that is away, the switch's log says so.
"""

import os
import sys
from pathlib import Path

from modelpivot.errors import PivotError
from modelpivot.host import run_command
from modelpivot.models.cutover import Cutover
from modelpivot.models.host import HostConfig
from modelpivot.settings import to_environment
from modelpivot.state.cutovers import is_followed
from modelpivot.state.paths import StatePaths
from modelpivot.up.environment import told
from modelpivot.up.places import up_places

PROJECT = Path(__file__).resolve().parents[2]
ALARM_S = 60.0
"""Less than the silence after which systemd kills a switch."""


def sound_alarm(host: HostConfig, state: StatePaths, closed: Cutover) -> None:
    """Have `flows.alarm` tell it. Nothing to do when something serves, or when the run that follows the switch lives. Never raises."""
    if closed.outcome != "nothing_serves" or is_followed(state):
        return
    places = up_places(host)
    if not places.client_env.exists():
        print(f"nothing serves, and no Prefect is told: there is no {places.client_env}", file=sys.stderr)
        return
    path = os.pathsep.join([str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**told(places, places.client_env), **to_environment(host), "PYTHONPATH": path}
    try:
        run_command([sys.executable, "-m", "flows.alarm", closed.run_id], timeout_s=ALARM_S, env=environment)
    except (PivotError, OSError) as error:
        print(f"nothing serves, and Prefect could not be told: {error}", file=sys.stderr)
