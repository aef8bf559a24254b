"""Server and worker as units of systemd that read the environment files of a folder: there, `up` starts nothing beside them and writes no file of theirs.

$ systemctl show prefect-server.service --property=EnvironmentFiles
EnvironmentFiles=/var/lib/modelpivot/prefect/server.env (ignore_errors=no)
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.supervisors.systemctl import UnitFacts, show, systemctl
from modelpivot.up.places import UNITS, Role, UpPlaces

GOING = ("active", "activating", "reloading")
BOTH = " ".join(unit.removesuffix(".service") for unit in UNITS.values())


def read_own_units(places: UpPlaces) -> dict[Role, UnitFacts]:
    """What systemd knows of the units of this folder; empty where it has none, or where no systemd answers."""
    if not Path("/run/systemd/system").is_dir() or shutil.which("systemctl") is None:
        return {}
    files = {"server": places.server_env, "worker": places.client_env}
    try:
        return {role: show(unit) for role, unit in UNITS.items() if _is_told_by(unit, files[role])}
    except CommandFailed:
        return {}


def _is_told_by(unit: str, file: Path) -> bool:
    lines = systemctl("show", unit, "--property=EnvironmentFiles").stdout.splitlines()
    return any(line.startswith(f"EnvironmentFiles={file} (") for line in lines)


def are_in_charge(units: Mapping[Role, UnitFacts]) -> bool:
    """Pure: whether Prefect of this host is its units, and both run. False: neither runs nor is to run; PreconditionError names them where one is down."""
    if not [unit for unit in units.values() if _runs(unit) or unit["UnitFileState"].startswith("enabled")]:
        return False
    if down := [name for role, name in UNITS.items() if role not in units or not _runs(units[role])]:
        states = ", ".join(f"{name} is {units[role]['ActiveState'] if role in units else 'not there'}" for role, name in UNITS.items())
        raise PreconditionError(
            f"Prefect of this host is units of systemd: expected both to run, found that {states}",
            hint=f"systemctl start {' '.join(down)}; the worker's puts everything in place whenever it starts. "
            f"For processes of `modelpivot up` instead, first: systemctl disable --now {BOTH}",
        )
    return True


def _runs(unit: UnitFacts) -> bool:
    return unit["ActiveState"] in GOING
