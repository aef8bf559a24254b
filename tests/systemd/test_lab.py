"""The sandbox does what the tests on it rely on."""

import os
from pathlib import Path

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.host import boot_id, run_command
from tests.lab.sandbox import SCRIPT, Sandbox, SandboxGone, missing


def refuse() -> None:
    """Raises an error of ours."""
    raise PreconditionError("no", hint="go on")


def test_unit_runs_on_real_systemd(sandbox: Sandbox) -> None:
    """A unit that is written inside starts, is active, and its words are in the journal."""
    sandbox.write("/etc/systemd/system/test-plain.service", "[Service]\nType=exec\nExecStart=/bin/sh -c 'echo here; exec sleep infinity'\n")
    sandbox.shell("systemctl daemon-reload; systemctl start test-plain")
    assert sandbox.show("test-plain", "ActiveState") == "active"
    sandbox.shell("until journalctl -u test-plain -o cat | grep -qx here; do sleep 0.05; done")


def test_calls_cross_with_results_and_errors(sandbox: Sandbox) -> None:
    """A function called inside sees the inside, and what it raises is raised outside with its hint."""
    assert sandbox.call(Path("/proc/1/comm").read_text) == "systemd\n"
    with pytest.raises(PreconditionError, match="no") as caught:
        sandbox.call(refuse)
    assert caught.value.hint == "go on"


def test_worker_that_dies_is_told(sandbox: Sandbox) -> None:
    """A call whose process dies raises, and the next call works."""
    with pytest.raises(SandboxGone):
        sandbox.call(os._exit, 3)
    assert sandbox.call(os.getpid) > 1


def test_reboot_keeps_disk_alone(own_machine: Sandbox) -> None:
    """After a reboot files and enabled units are there, /tmp and /run are empty, the boot id is new and differs from the host's."""
    own_machine.write(
        "/etc/systemd/system/test-on.service", "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
    )
    own_machine.shell("systemctl enable test-on; touch /var/lib/kept /tmp/lost /run/lost")
    before = own_machine.call(boot_id)
    own_machine.reboot()
    assert own_machine.shell("ls /var/lib/kept; ls /tmp/lost /run/lost 2>/dev/null || true") == "/var/lib/kept"
    assert own_machine.show("test-on", "ActiveState") == "active"
    assert len({before, own_machine.call(boot_id), boot_id()}) == 3


def test_nothing_is_left_of_a_forgotten_sandbox(own_machine: Sandbox) -> None:
    """After `forget` no process and no mount of the sandbox is on the host, and its disk is empty at the next start."""
    own_machine.write("/var/lib/kept", "x")
    own_machine.forget()
    assert str(own_machine.state) not in Path("/proc/self/mountinfo").read_text()
    assert run_command([SCRIPT, "status", own_machine.state], timeout_s=60, is_checked=False).returncode == 3
    own_machine.start()
    assert not own_machine.call(Path("/var/lib/kept").exists)


@pytest.mark.long
def test_sandbox_keeps_its_promises(tmp_path: Path) -> None:
    """The sandbox's own test of its safety, its ends and its networks passes, nothing skipped."""
    if why := missing():
        pytest.skip(why)
    result = run_command([SCRIPT.with_name("systemd-sandbox-selftest"), tmp_path], timeout_s=300, is_checked=False)
    bad = [line for line in result.stdout.splitlines() if not line.startswith(("PASS", "      "))]
    assert (result.returncode, [line for line in bad if "passed" not in line]) == (0, [])
