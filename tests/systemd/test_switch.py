"""The switch on a real systemd: forward, back, under SIGKILL and through reboots. The engine is a stand-in, and called one."""

import signal

import pytest

from modelpivot.supervisors.process import send_signal
from tests.lab.sandbox import Sandbox
from tests.systemd.units import DEADLINES, Units


@pytest.fixture
def own(own_machine: Sandbox) -> Units:
    """A host on a machine of the test's own."""
    return Units(own_machine)


def test_switch_promotes_and_survives_a_boot(own: Units) -> None:
    """The new release serves, is enabled, the old one is stopped and disabled; after a power cut the new one comes up by itself."""
    old, new = own.serve(own.release("old")), own.release("new")
    closed = own.wait_phase(own.begin_switch(old, new), "closed")
    assert (closed.outcome, closed.reason) == ("promoted", "")
    own.assert_serves(new, old)
    own.sandbox.reboot()
    own.assert_serves(new, old)


def test_engine_that_dies_at_start_goes_back_with_its_words(units: Units) -> None:
    """A new engine that dies is no reason to be without a model: the old one serves again, and the cause is kept from the journal."""
    old, new = units.serve(units.release("old")), units.release("new", fault="die_at_start")
    closed = units.wait_phase(units.begin_switch(old, new), "closed")
    assert closed.outcome == "returned"
    assert any("e_score_correction_bias" in line for line in closed.cause)
    units.assert_serves(old, new)


def test_program_that_is_not_there_touches_nothing(units: Units) -> None:
    """A new release whose program is missing is refused before the intent: the old one keeps its process."""
    old, new = units.serve(units.release("old")), units.release("new")
    new = units.write(new.model_copy(update={"start": new.start.model_copy(update={"argv": ["/nosuch/python"]})}))
    main = units.status(old).main
    with pytest.raises(Exception, match="/nosuch/python"):
        units.begin_switch(old, new)
    assert units.status(old).main == main


PHASES = ["stopping", "readying", "unconfirmed", "returning"]
KILLED = [phase if phase == "readying" else pytest.param(phase, marks=pytest.mark.long) for phase in PHASES]
CUT = [phase if phase == "unconfirmed" else pytest.param(phase, marks=pytest.mark.long) for phase in PHASES]


@pytest.mark.parametrize("phase", KILLED)
def test_killed_switch_goes_back_by_itself(units: Units, phase: str) -> None:
    """SIGKILL of the switch in any phase, and of who started it: systemd starts it again, and it goes back. No second run."""
    old = units.serve(units.release("old", args=("--stop-s", "0.5", "--load-s", "1")))
    new = units.release("new", args=("--load-s", "1"))
    cutover = units.begin_switch(old, new, confirm="asked")
    if phase == "returning":
        units.wait_phase(cutover, "unconfirmed")
        units.decide("return")
    switch = units.wait_phase(cutover, phase).switch
    assert switch
    units.sandbox.call(send_signal, switch, signal.SIGKILL)
    closed = units.wait_phase(cutover, "closed")
    assert closed.outcome == "returned" and closed.switch != switch
    units.assert_serves(old, new)


@pytest.mark.parametrize("phase", CUT)
def test_power_cut_goes_back(own: Units, phase: str) -> None:
    """A power cut in any phase of the switch: after the boot the old release serves, alone, and the switch is closed. No second run."""
    old = own.serve(own.release("old", args=("--stop-s", "0.5", "--load-s", "1")))
    new = own.release("new", args=("--load-s", "1"))
    cutover = own.begin_switch(old, new, confirm="asked")
    if phase == "returning":
        own.wait_phase(cutover, "unconfirmed")
        own.decide("return")
    own.wait_phase(cutover, phase)
    own.sandbox.reboot()
    assert own.wait_phase(cutover, "closed").outcome == "returned"
    own.assert_serves(old, new)


def test_power_cut_while_both_are_enabled(own: Units) -> None:
    """A power cut in the middle of a promotion, with both releases enabled: the new one is never started at the boot."""
    old, new = own.serve(own.release("old")), own.release("new")
    cutover = own.begin_switch(old, new, confirm="asked")
    own.wait_phase(cutover, "unconfirmed")
    own.sandbox.call(own.supervisor.enable, new)
    own.sandbox.reboot()
    assert own.wait_phase(cutover, "closed").outcome == "returned"
    own.assert_serves(old, new)
    assert own.sandbox.journal("modelpivot-new.service") == []


def test_power_cut_while_the_current_release_is_brought_up(own: Units) -> None:
    """It was down, and nothing is behind it: after the boot it serves, is current, and comes up at the next boot too."""
    current = own.serve(own.release("old", args=("--load-s", "1")))
    own.stop(current)
    cutover = own.begin_switch(None, current)
    own.wait_phase(cutover, "readying")
    own.sandbox.reboot()
    closed = own.wait_phase(cutover, "closed")
    assert (closed.outcome, closed.to_release) == ("promoted", "old"), closed
    own.sandbox.reboot()
    own.wait_answers(current)


def test_orderly_shutdown_goes_back_after_the_boot(own: Units) -> None:
    """A machine that is shut down while a switch is unconfirmed: the switch leaves what it cannot do, and the boot goes back."""
    old, new = own.serve(own.release("old")), own.release("new")
    cutover = own.begin_switch(old, new, confirm="asked")
    own.wait_phase(cutover, "unconfirmed")
    own.sandbox.power_off()
    own.sandbox.start()
    assert own.wait_phase(cutover, "closed").outcome == "returned"
    own.assert_serves(old, new)


def test_boot_without_an_open_switch_changes_nothing(own: Units) -> None:
    """A power cut without a switch: the current release comes up, the boot unit has succeeded and left no trace in the state."""
    old = own.serve(own.release("old"))
    own.sandbox.call(own.supervisor.prepare, old)
    before = own.sandbox.shell("ls /var/lib/modelpivot")
    own.sandbox.reboot()
    own.wait_answers(old)
    assert own.sandbox.show("modelpivot-recover", "ExecMainStatus") == "0"
    assert own.sandbox.show("modelpivot-recover", "ExecMainExitTimestampMonotonic") != "0"
    assert own.sandbox.shell("ls /var/lib/modelpivot") == before


def test_nobody_confirms(units: Units) -> None:
    """Unconfirmed until confirm_by: back by itself."""
    old = units.serve(units.release("old"))
    new = units.release("new", deadlines=DEADLINES.model_copy(update={"confirm_s": 1}))
    closed = units.wait_phase(units.begin_switch(old, new, confirm="asked"), "closed")
    assert closed.outcome == "returned"
    units.assert_serves(old, new)
