"""A trial on a real systemd: reboot, power cut, and both processes killed while something is only tried. The engine is a stand-in, and called one."""

import signal
import time

import pytest

from modelpivot.models.cutover import Cutover
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Endpoint, Release
from modelpivot.stages.context import open_context
from modelpivot.stages.trial import start_trial
from modelpivot.supervisors.process import send_signal
from tests.lab.sandbox import Sandbox
from tests.systemd.units import Units


def begin_trial(config: HostConfig, frm: Release | None, to: Release, hour_s: float) -> Cutover:
    """Inside: what a run does up to the moment at which the switch process holds the host."""
    turn_at = time.time() + hour_s
    return start_trial(open_context(config, name="trial"), to=to, frm=frm, turn_at=turn_at, back_by=turn_at + 60)


@pytest.fixture
def own(own_machine: Sandbox) -> Units:
    """A host on a machine of the test's own."""
    return Units(own_machine)


def test_power_cut_in_the_window_brings_back_what_served(own: Units) -> None:
    """The tried one is up when the machine loses its power: after the boot the old one serves, alone, and the trial is closed. No second run."""
    old, new = own.serve(own.release("old")), own.release("new")
    trial = own.sandbox.call(begin_trial, own.config, old, new, 3600.0)
    own.wait_phase(trial, "unconfirmed")
    own.sandbox.reboot()
    assert own.wait_phase(trial, "closed").outcome == "returned"
    own.assert_serves(old, new)


@pytest.mark.long
def test_power_cut_beside_what_serves_leaves_nothing_of_it(own: Units) -> None:
    """Tried on another port: after the boot the old one serves as ever, the tried one is not started again."""
    old = own.serve(own.release("old"))
    new = own.release("new", args=("--port", "8001"), endpoint=Endpoint(bind="127.0.0.1", port=8001, served_name="new"))
    trial = own.sandbox.call(begin_trial, own.config, None, new, 3600.0)
    own.wait_phase(trial, "unconfirmed")
    own.sandbox.reboot()
    assert own.wait_phase(trial, "closed").outcome == "returned"
    own.assert_serves(old, new)


def test_killed_with_its_switch_it_is_back_by_the_hour(units: Units) -> None:
    """SIGKILL of the switch while something is tried: systemd starts it again and it goes back; nobody waits for the trial's hour."""
    old, new = units.serve(units.release("old")), units.release("new")
    trial = units.sandbox.call(begin_trial, units.config, old, new, 3600.0)
    switch = units.wait_phase(trial, "unconfirmed").switch
    assert switch
    units.sandbox.call(send_signal, switch, signal.SIGKILL)
    closed = units.wait_phase(trial, "closed")
    assert closed.outcome == "returned" and closed.switch != switch
    units.assert_serves(old, new)


def test_its_hour_comes_while_nobody_follows(units: Units) -> None:
    """Prefect's API, the flow, the worker may do what they like: at its hour the switch goes back by itself."""
    old, new = units.serve(units.release("old")), units.release("new")
    trial = units.sandbox.call(begin_trial, units.config, old, new, 3.0)
    closed = units.wait_phase(trial, "closed")
    assert (closed.outcome, closed.reason) == ("returned", "the time for the trial is over")
    units.assert_serves(old, new)
