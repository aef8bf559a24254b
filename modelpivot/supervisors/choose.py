"""Which supervisor this host has."""

from modelpivot.models.host import HostConfig
from modelpivot.state.paths import StatePaths
from modelpivot.supervisors.process import ProcessSupervisor
from modelpivot.supervisors.protocol import Supervisor


def choose_supervisor(host: HostConfig, state: StatePaths) -> Supervisor:
    """The supervisor of this host: detached process groups, the only kind so far, whatever `host.supervisor` asks for."""
    return ProcessSupervisor(state)
