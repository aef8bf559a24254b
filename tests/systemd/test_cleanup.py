"""A clean slate on a machine under systemd: what is named is stopped and disabled, no boot brings it back, and one word does."""

import re
from typing import Any

import pytest

from modelpivot.models.release import Release
from modelpivot.state.releases import read_book
from modelpivot.supervisors.unit_text import unit_name
from tests.lab.sandbox import Sandbox
from tests.systemd.foreign import FRAGMENT, NAME, TEXT, Foreign
from tests.systemd.units import Units


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


def recover(foreign: Foreign) -> str:
    """The command that starts again what was stopped by name; what it says."""
    return str(foreign.command("recover")["message"])


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
    assert recover(foreign) == f"{NAME} runs again"
    foreign.wait_answers()
    assert states(foreign) == ("active", "enabled")
    assert foreign.units.sandbox.call(read_book, foreign.units.state).stopped == []


def test_a_rollback_starts_a_service_that_was_never_adopted(foreign: Foreign) -> None:
    """As recover does it: started, enabled as it was, off the record; exit 0, and the run is remembered as rolled back."""
    foreign.put()
    foreign.wait_answers()
    clean(foreign)
    told = foreign.command("rollback")
    assert (told["outcome"], told["message"]) == ("started", f"{NAME} serves again")
    foreign.wait_answers()
    assert states(foreign) == ("active", "enabled")
    assert foreign.command("history")["runs"][0]["outcome"] == "rolled_back"
    assert foreign.units.sandbox.call(read_book, foreign.units.state).stopped == []


@pytest.mark.parametrize("word", ["recover", "rollback"])
@pytest.mark.parametrize("stops", [(("old", NAME),), ((NAME,), ("old",))], ids=["at once", "one after the other"])
def test_everything_that_was_stopped_by_name_comes_back(foreign: Foreign, word: str, stops: tuple[tuple[str, ...], ...]) -> None:
    """A release and a service: status tells both; the release answers again through a switch, the service runs and is enabled."""
    foreign.put()
    foreign.wait_answers()
    old = serve_beside(foreign.units)
    for names in stops:
        foreign.command("cleanup", *(part for name in names for part in ("--stop", name)), "--yes")
    assert (states(foreign), foreign.units.status(old).state) == (("inactive", "disabled"), "stopped")
    told = foreign.command("status")["stopped"]
    assert "old was stopped" in told and f"{NAME} was stopped" in told and "starts them again" in told
    foreign.command(word)
    foreign.wait_answers()
    foreign.units.wait_answers(old)
    assert states(foreign) == ("active", "enabled") and foreign.units.sandbox.show(unit_name(old), "UnitFileState") == "enabled"
    assert foreign.units.sandbox.call(read_book, foreign.units.state).stopped == []


def serve_beside(units: Units) -> Release:
    """A release that serves on a port of its own."""
    made = units.release("old")
    argv = ["8001" if part == "8000" else part for part in made.start.argv]
    changes = {"start": made.start.model_copy(update={"argv": argv}), "endpoint": made.endpoint.model_copy(update={"port": 8001})}
    return units.serve(units.write(made.model_copy(update=changes)))


@pytest.mark.parametrize("lives_s", [0, 0.7])
def test_a_service_that_ends_at_once_is_not_called_started(foreign: Foreign, lives_s: float) -> None:
    """Its program is broken meanwhile: recover says so with its words, it is down for good, and stays written down; mended, it starts.

    Also where it lives long enough to be seen alive whenever it is looked at, started again and again.
    """
    foreign.put()
    foreign.wait_answers()
    clean(foreign)
    broken = f"ExecStart=/bin/sh -c 'echo no GPU here; sleep {lives_s}; exit 3'\nRestartSec=1ms"
    foreign.units.sandbox.write(FRAGMENT, re.sub("ExecStart=.*", broken, TEXT))
    foreign.units.sandbox.shell("systemctl daemon-reload")
    told = foreign.command("recover", expected=5)["message"]
    assert "exit code 3" in told and "no GPU here" in told
    assert states(foreign)[0] in ("inactive", "failed")
    assert NAME in foreign.command("status")["stopped"]
    foreign.units.sandbox.write(FRAGMENT, TEXT)
    foreign.units.sandbox.shell("systemctl daemon-reload")
    recover(foreign)
    foreign.wait_answers()


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
