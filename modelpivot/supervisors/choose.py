"""Which supervisor this host has."""

from modelpivot.errors import PreconditionError
from modelpivot.models.host import HostConfig
from modelpivot.state.paths import StatePaths
from modelpivot.supervisors.process import ProcessSupervisor
from modelpivot.supervisors.protocol import Supervisor
from modelpivot.supervisors.systemctl import is_systemd_here
from modelpivot.supervisors.systemd import SystemdSupervisor


def choose_supervisor(host: HostConfig, state: StatePaths) -> Supervisor:
    """systemd where the machine runs under it and we are root, else detached process groups. PreconditionError when systemd is asked for and not here."""
    if host.supervisor == "process" or (host.supervisor == "auto" and not is_systemd_here()):
        return ProcessSupervisor(state)
    if not is_systemd_here():
        raise PreconditionError(
            "supervisor: expected a machine that runs under systemd and the user root",
            hint="run as root, or set MODELPIVOT_SUPERVISOR=process",
        )
    return SystemdSupervisor(host, state)
