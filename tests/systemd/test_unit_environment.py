"""What boot unit and switch are told of their host, and who can read it."""

import pytest

from modelpivot.models.hooks import Hooks
from modelpivot.supervisors.systemd import SystemdSupervisor
from modelpivot.supervisors.unit_text import RECOVER_UNIT
from tests.lab.sandbox import Sandbox
from tests.systemd.units import ROOT, Units

PLANTED = "tok-planted-7f3a"
HOOK = f"curl -H 'Authorization: Bearer {PLANTED}' \"https://lb.example/$HOSTNAME/100%\" \\\\ # é\nsleep 0.1"
FILE = ROOT / "units.env"
OPEN_TO_ALL = (
    "find /etc/systemd /run/systemd/system /run/systemd/transient /var/lib/modelpivot -type f -perm /077 -exec grep -l {} {{}} + || true"
)


def with_hooks(units: Units) -> Units:
    """A host whose hook holds a token."""
    units.config = units.config.model_copy(update={"hooks": Hooks(before=[HOOK])})
    units.supervisor = SystemdSupervisor(units.config, units.state)
    return units


def read_hooks(units: Units, unit: str) -> Hooks:
    """What the main process of a unit was told."""
    environment = units.sandbox.shell(
        f"tr '\\0' '\\n' < /proc/$(systemctl show {unit} -p MainPID --value)/environ | grep ^MODELPIVOT_HOOKS="
    )
    return Hooks.model_validate_json(environment.removeprefix("MODELPIVOT_HOOKS="))


def test_a_token_in_a_hook_is_in_no_unit(units: Units) -> None:
    """The switch is told the hook as it stands; neither a file that others may read nor `systemctl show` has it, in the switch or after it."""
    host = with_hooks(units)
    old, new = host.serve(host.release("old")), host.release("new")
    cutover = host.begin_switch(old, new, confirm="asked")
    host.wait_phase(cutover, "unconfirmed")
    for _ in range(2):
        assert host.sandbox.shell(OPEN_TO_ALL.format(PLANTED)) == ""
        assert PLANTED not in host.sandbox.shell("systemctl show '*' --all; systemctl cat 'modelpivot-*'")
        if host.read_switch(cutover).phase != "closed":
            assert read_hooks(host, f"modelpivot-switch-{cutover.run_id}.service") == host.config.hooks
            host.decide("promote")
            host.wait_phase(cutover, "closed")
    assert host.sandbox.shell(f"stat -c %a {FILE}; grep -c {PLANTED} {FILE}") == "600\n1"


@pytest.mark.parametrize("how", ["gone", "garbage"])
def test_a_switch_is_taken_back_without_the_file(own_machine: Sandbox, how: str) -> None:
    """The power is cut in a switch and the file is lost: after the boot the old release serves, and the boot unit says what it missed."""
    units = with_hooks(Units(own_machine))
    old, new = units.serve(units.release("old")), units.release("new")
    cutover = units.begin_switch(old, new, confirm="asked")
    units.wait_phase(cutover, "unconfirmed")
    units.sandbox.shell(f"rm {FILE}" if how == "gone" else f"head -c 3000 /dev/urandom > {FILE}")
    units.sandbox.reboot()
    assert units.wait_phase(cutover, "closed").outcome == "returned"
    units.assert_serves(old, new)
    said = f"{FILE} is not there: going on with the default configuration" in "\n".join(units.sandbox.journal(RECOVER_UNIT))
    assert said is (how == "gone")
