"""`modelpivot demo --stop`: ends what the demo left up or still does, and nothing else. Files stay; the next demo goes on with them.

First those who would start something again (command, flow, switch), then what they started.
"""

import contextlib
import os
import signal

from modelpivot.demo.places import DemoPlaces
from modelpivot.demo.services import end_group, read_running, remember, stop_service
from modelpivot.demo.sole import read_demo_process
from modelpivot.files import read_model
from modelpivot.host import is_alive, kill_group
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.state.cutovers import close_cutover, read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases
from modelpivot.state.runs import list_runs
from modelpivot.supervisors.choose import choose_supervisor


class Stopped(Frozen):
    """What `--stop` ended, in words."""

    ended: list[str]


def stop_demo(places: DemoPlaces) -> list[str]:
    """End a running demo, an open switch, engines, the Hub and the server; what was ended, in words. Nothing to do: an empty list."""
    if not places.running.exists():
        return []
    ended = _stop_command(places) + _stop_flows(places) + _stop_switch(places) + _stop_engines(places)
    running = read_running(places)
    for name, service in (("the local Hub", running.hub), ("the Prefect server", running.prefect)):
        if service:
            stop_service(service)
            ended.append(f"{name} at {service.url}")
    remember(places, hub=None, prefect=None)
    return ended


def _stop_command(places: DemoPlaces) -> list[str]:
    process = read_demo_process(places)
    if process is None:
        return []
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    return [f"the demo that ran (process {process.pid})"]


def _stop_flows(places: DemoPlaces) -> list[str]:
    ended = []
    for run in list_runs(StatePaths(places.root / "state")):
        owner = read_model(run.owner, ProcessId)
        if owner and is_alive(owner) and leads_group(owner.pid):
            end_group(owner)
            ended.append(f"run {run.id}")
    return ended


def leads_group(pid: int) -> bool:
    """Whether the process is the first of its group; not, where it is gone."""
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(pid) == pid
    return False


def _stop_switch(places: DemoPlaces) -> list[str]:
    state = StatePaths(places.root / "state")
    cutover = read_cutover(state)
    if cutover is None:
        return []
    if cutover.switch and is_alive(cutover.switch):
        kill_group(cutover.switch.pid)
    close_cutover(
        state, cutover.model_copy(update={"phase": "closed", "outcome": "nothing_serves", "reason": "ended by modelpivot demo --stop"})
    )
    return [f"the open switch to {cutover.to_release}"]


def _stop_engines(places: DemoPlaces) -> list[str]:
    host = places.host(port=read_running(places).engine_port)
    state = StatePaths(host.state_dir)
    supervisor = choose_supervisor(host, state)
    ended = []
    for release in list_releases(state):
        if supervisor.processes(release):
            supervisor.stop(release, timeout_s=release.deadlines.stop_s)
            ended.append(f"the engine of {release.id} at {release.endpoint.base_url}")
    return ended
