"""`modelpivot demo --stop`: ends what the demo left up, and nothing else. Files stay; the next demo goes on with them."""

from modelpivot.demo.places import DemoPlaces
from modelpivot.demo.services import read_running, remember, stop_service
from modelpivot.host import is_alive, kill_group
from modelpivot.state.cutovers import close_cutover, read_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases
from modelpivot.supervisors.choose import choose_supervisor


def stop_demo(places: DemoPlaces) -> list[str]:
    """End an open switch, engines, the Hub and the server; what was ended, in words. Nothing to do: an empty list."""
    if not places.running.exists():
        return []
    ended = _stop_switch(places) + _stop_engines(places)
    running = read_running(places)
    for name, service in (("the local Hub", running.hub), ("the Prefect server", running.prefect)):
        if service:
            stop_service(service)
            ended.append(f"{name} at {service.url}")
    remember(places, hub=None, prefect=None)
    return ended


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
    host = places.host("", read_running(places).engine_port)
    state = StatePaths(host.state_dir)
    supervisor = choose_supervisor(host, state)
    ended = []
    for release in list_releases(state):
        if supervisor.processes(release):
            supervisor.stop(release, timeout_s=release.deadlines.stop_s)
            ended.append(f"the engine of {release.id} at {release.endpoint.base_url}")
    return ended
