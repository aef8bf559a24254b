"""Which of them is in charge of a host's Prefect, its units of systemd or `modelpivot up`: as systemd's own words say it."""

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.supervisors.systemctl import UnitFacts
from modelpivot.up.own_units import are_in_charge
from modelpivot.up.places import UNITS, Role


def units(**states: str) -> dict[Role, UnitFacts]:
    """Units of a host, each with its state: `active enabled`."""
    roles: dict[str, Role] = {"server": "server", "worker": "worker"}
    words = {roles[role]: words.split() for role, words in states.items()}
    return {role: UnitFacts(UNITS[role], {"ActiveState": active, "UnitFileState": file}) for role, (active, file) in words.items()}


@pytest.mark.parametrize("active", ["active", "activating"])
@pytest.mark.parametrize("file", ["enabled", "disabled"])
def test_units_that_run_are_in_charge(active: str, file: str) -> None:
    """Started now or at boot, also while one is on its way up."""
    assert are_in_charge(units(server=f"active {file}", worker=f"{active} {file}"))


@pytest.mark.parametrize("found", [units(), units(server="inactive disabled", worker="inactive disabled"), units(server="failed disabled")])
def test_units_that_neither_run_nor_shall_are_not(found: dict[Role, UnitFacts]) -> None:
    """None there, or only their files: `up` brings both up itself."""
    assert not are_in_charge(found)


@pytest.mark.parametrize(
    ("found", "down"),
    [
        (units(server="active enabled", worker="failed enabled"), "modelpivot-worker.service"),
        (units(server="inactive enabled", worker="inactive enabled"), "prefect-server.service modelpivot-worker.service"),
        (units(worker="active enabled"), "prefect-server.service"),
    ],
)
def test_where_one_is_down_both_are_named_and_what_to_start(found: dict[Role, UnitFacts], down: str) -> None:
    """Also where only the worker is a unit, for a server elsewhere: its file is not written over."""
    with pytest.raises(PreconditionError) as caught:
        are_in_charge(found)
    assert f"systemctl start {down};" in caught.value.hint and all(unit in caught.value.message for unit in UNITS.values())
