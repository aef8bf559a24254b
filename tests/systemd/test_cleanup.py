"""A clean slate on a machine under systemd: what is named is stopped and disabled, no boot brings it back, and one word does."""

import sys
from typing import Any

import pytest

from modelpivot.state.releases import read_book
from tests.lab.sandbox import Sandbox
from tests.systemd.foreign import NAME, PROJECT, Foreign
from tests.systemd.units import ROOT, Units


@pytest.fixture
def foreign(units: Units) -> Foreign:
    """Not there yet."""
    return Foreign(units)


@pytest.fixture
def own(own_machine: Sandbox) -> Foreign:
    """The same on a machine of the test's own."""
    return Foreign(Units(own_machine))


def states(foreign: Foreign) -> tuple[str, str]:
    """Whether the old unit runs, and whether it starts at boot."""
    return foreign.units.sandbox.show(NAME, "ActiveState"), foreign.units.sandbox.show(NAME, "UnitFileState")


def recover(foreign: Foreign) -> None:
    """The command that starts again what was stopped by name."""
    environment = [f"PYTHONPATH={PROJECT}", f"MODELPIVOT_STATE_DIR={ROOT}"]
    foreign.units.sandbox.exec("env", *environment, sys.executable, "-m", "modelpivot", "recover")


def clean(foreign: Foreign) -> Any:
    """The command; its document."""
    return foreign.command("cleanup", "--stop", NAME, "--yes")


def test_a_service_that_was_never_adopted(foreign: Foreign) -> None:
    """Stopped whole though its unit kills its main process alone; disabled; told by status; started and enabled again by recover."""
    foreign.put()
    foreign.wait_answers()
    main = foreign.units.sandbox.show(NAME, "MainPID")
    done = clean(foreign)
    assert (done["stopped"], done["obstacles"], states(foreign)) == ([NAME], [], ("inactive", "disabled"))
    assert foreign.units.sandbox.exec("test", "-e", f"/proc/{main}", is_checked=False).returncode == 1
    assert NAME in foreign.command("status")["stopped"]
    recover(foreign)
    foreign.wait_answers()
    assert states(foreign) == ("active", "enabled")
    assert foreign.units.sandbox.call(read_book, foreign.units.state).stopped is None


def test_no_boot_brings_an_adopted_release_back(own: Foreign) -> None:
    """Adopted, stopped by name, and down after a reboot; recover starts it and it is enabled again."""
    own.put()
    own.wait_answers()
    release = own.command("adopt", NAME)["id"]
    assert clean(own)["stopped"] == [release]
    own.units.sandbox.reboot()
    assert states(own) == ("inactive", "disabled")
    assert own.command("status")["current"] == release
    recover(own)
    own.wait_answers()
    assert states(own) == ("active", "enabled")


def test_nothing_else_stops(foreign: Foreign) -> None:
    """Without its name the service goes on, and the slate says that it does."""
    foreign.put()
    foreign.wait_answers()
    plan = foreign.command("cleanup", "--dry-run")
    assert [(each["name"], each["is_to_stop"]) for each in plan["serving"]] == [(NAME, False)]
    foreign.command("cleanup", "--yes")
    assert states(foreign) == ("active", "enabled")
