"""A systemd for the session, and one that may be rebooted for a test. Where none can be started, the tests here are skipped by name."""

from collections.abc import Iterator

import pytest

from tests.lab.sandbox import Sandbox, missing
from tests.systemd.units import Units


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running systemd, shared by the session; a test that uses it removes its own units (fixture `sandbox`)."""
    if why := missing():
        pytest.skip(why)
    machine = Sandbox(tmp_path_factory.mktemp("machine") / "one")
    try:
        machine.start()
        yield machine
    finally:
        machine.forget()


@pytest.fixture
def sandbox(machine: Sandbox) -> Iterator[Sandbox]:
    """The session's systemd without a trace of an earlier test: after the test every unit of its own is stopped and removed."""
    yield machine
    machine.shell(CLEAN)


@pytest.fixture
def own_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A systemd of the test's own, to stop and to reboot."""
    if why := missing():
        pytest.skip(why)
    machine = Sandbox(tmp_path_factory.mktemp("own") / "one")
    try:
        machine.start()
        yield machine
    finally:
        machine.forget()


@pytest.fixture
def units(sandbox: Sandbox) -> Units:
    """Releases of the stand-in on the session's systemd."""
    return Units(sandbox)


CLEAN = """
units=$(systemctl list-units --all --plain --no-legend 'modelpivot-*' 'test-*' 'vllm-*' | awk '{print $1}')
for unit in $units; do systemctl stop $unit || true; done
rm -rf /etc/systemd/system/{modelpivot,test,vllm}-* /etc/systemd/system/*.wants/{modelpivot,test,vllm}-* /var/lib/modelpivot /run/dump
systemctl daemon-reload
systemctl reset-failed
"""
