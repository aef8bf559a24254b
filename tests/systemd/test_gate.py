"""The gate on a real systemd: the unit that waited is the unit that serves, and what its text says counts again behind the gate."""

import signal
from pathlib import Path

import pytest

from modelpivot.models.engine import Gate
from modelpivot.models.recipe import Hooks
from modelpivot.models.release import Release
from modelpivot.supervisors.process import send_signal
from modelpivot.supervisors.unit_text import unit_name
from tests.systemd.units import Units

GATE = Gate(preload=["json"], memory_bytes=1)


def gated(units: Units, name: str = "new", *, fault: str = "none") -> Release:
    """A release whose engine may wait at a gate."""
    return units.release(name, fault=fault, gate=GATE)


def shown(units: Units, release: Release, name: str) -> str:
    """What systemd says of the unit."""
    return units.sandbox.show(unit_name(release), name)


def test_the_unit_that_waited_serves(units: Units) -> None:
    """Promoted through the gate: started before the old one stopped, restarted when it dies from then on, and by its own text."""
    old, new = units.serve(units.release("old")), gated(units)
    closed = units.wait_phase(units.begin_switch(old, new), "closed")
    assert (closed.outcome, closed.reason) == ("promoted", "")
    assert [step.name for step in closed.steps] == ["warm", "stop old", "prove free", "serve", "ready", "probe"]
    units.assert_serves(new, old)
    assert shown(units, new, "DropInPaths") == ""
    assert shown(units, new, "Restart") == "always"
    main = units.status(new).main
    assert main is not None
    assert "gate.py" in units.sandbox.read(f"/proc/{main.pid}/cmdline")
    units.sandbox.call(send_signal, main, signal.SIGKILL)
    units.wait(lambda: units.status(new).main not in (None, main), what="its restart")
    units.wait_answers(new)
    again = units.status(new).main
    assert again is not None
    assert "gate.py" not in units.sandbox.read(f"/proc/{again.pid}/cmdline")


def test_somebody_elses_runtime_drop_in_is_left_where_it_is(units: Units) -> None:
    """`systemctl edit --runtime` or set-property has put one beside the gate's: the switch goes through the gate all the same, and systemd has read
    that the gate is gone."""
    old, new = units.serve(units.release("old")), gated(units)
    drop_in = f"/run/systemd/system/{unit_name(new)}.d/50-own.conf"
    units.sandbox.write(drop_in, "[Service]\nNice=1\n")
    closed = units.wait_phase(units.begin_switch(old, new), "closed")
    try:
        assert (closed.outcome, closed.reason) == ("promoted", "")
        assert (shown(units, new, "DropInPaths"), shown(units, new, "NeedDaemonReload")) == (drop_in, "no")
        assert shown(units, new, "Restart") == "always"
    finally:
        units.sandbox.shell(f"rm -r {drop_in.rpartition('/')[0]}")


def test_what_waits_ends_with_its_switch_and_is_not_restarted(units: Units) -> None:
    """SIGKILL of the switch at the gate: the engine ends by itself, the old one was never away, and the unit is what it was."""
    old, new = units.serve(units.release("old", hooks=Hooks(drain=["sleep 600"]))), gated(units)
    before = units.status(old).main
    cutover = units.begin_switch(old, new, confirm="asked")
    switch = units.wait_phase(cutover, "draining").switch
    assert switch is not None
    waiting = units.status(new).main
    assert waiting is not None
    units.sandbox.call(send_signal, switch, signal.SIGKILL)
    closed = units.wait_phase(cutover, "closed")
    assert closed.outcome == "returned"
    assert not units.is_alive(waiting)
    units.assert_serves(old, new)
    assert units.status(old).main == before
    assert shown(units, new, "DropInPaths") == ""


def test_an_ordinary_users_engine_gets_its_priority_back(units: Units) -> None:
    """Its unit may raise what was lowered, root or not; where the machine gives systemd itself no such right, nothing is lowered, and it serves alike."""
    units.sandbox.shell("id svc >/dev/null 2>&1 || useradd --system svc")
    old, new = units.serve(units.release("old", hooks=Hooks(drain=["until [ -e /tmp/looked ]; do sleep 0.1; done"]))), gated(units)
    new = units.write(new.model_copy(update={"start": new.start.model_copy(update={"user": "svc"})}))
    cutover = units.begin_switch(old, new)
    units.wait_phase(cutover, "draining")
    waiting = units.status(new).main
    assert waiting is not None
    assert shown(units, new, "LimitNICE") == "20"
    may_raise = " 20 " in units.sandbox.shell(f"grep 'Max nice' /proc/{waiting.pid}/limits")
    usual = int(units.sandbox.shell("ps -o ni= -p 1"))  # of the tests themselves: 0, where nobody runs them with less
    assert owner_and_nice(units, waiting.pid) == f"svc {max(10, usual) if may_raise else usual}"
    units.sandbox.write(Path("/tmp/looked"), "")
    closed = units.wait_phase(cutover, "closed")
    assert (closed.outcome, closed.reason, units.status(new).main) == ("promoted", "", waiting)
    assert owner_and_nice(units, waiting.pid) == f"svc {usual}"


def owner_and_nice(units: Units, pid: int) -> str:
    """Whose process it is, and with which priority it runs."""
    return " ".join(units.sandbox.shell(f"ps -o user=,ni= -p {pid}").split())


@pytest.mark.parametrize("preload", ["no.such.module"])
def test_plain_when_the_gate_is_not_reached(units: Units, preload: str) -> None:
    """An engine that dies on its way is started plain, by its own text."""
    old = units.serve(units.release("old"))
    new = units.release("new", gate=Gate(preload=[preload], memory_bytes=1))
    closed = units.wait_phase(units.begin_switch(old, new), "closed")
    assert (closed.outcome, closed.reason) == ("promoted", "")
    units.assert_serves(new, old)
    main = units.status(new).main
    assert main is not None
    assert "gate.py" not in units.sandbox.read(f"/proc/{main.pid}/cmdline")
