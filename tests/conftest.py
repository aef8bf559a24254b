"""What all tests share: a host in a temporary folder, and the rule that a skip is a failure where nothing may be missing."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from modelpivot.models.host import HostConfig
from modelpivot.state.paths import StatePaths
from tests.lab.sandbox import UNABLE
from tests.prefect_server import prefect_api

__all__ = ["prefect_api"]

NO_SKIP = "MODELPIVOT_TEST_NO_SKIP"
OURS = ("MODELPIVOT_TEST_", "MODELPIVOT_PICTURES")

for name in list(os.environ):  # what a shell says of its own host, Prefect, Hub and terminal is no word to the hosts of the tests
    if name in ("HF_ENDPOINT", "HF_TOKEN", "NO_COLOR") or (name.startswith(("MODELPIVOT_", "PREFECT_")) and not name.startswith(OURS)):
        del os.environ[name]
if os.environ.get("TERM") in ("dumb", "unknown"):
    del os.environ["TERM"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell: those that tests interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the processes that tests start: hundreds, and each would compile all it imports
for name in ("COLUMNS", "LINES", "FORCE_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "GITHUB_ACTIONS"):
    os.environ.pop(name, None)  # each has rich and typer draw for some terminal

# the same examples at every run, however slow the machine is; --hypothesis-profile=default draws others
settings.register_profile("modelpivot", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("modelpivot")

SLOW = ("benchmark", "checks", "cli", "inside", "operations", "stages", "systemd", "up", "weights")
"""Folders whose tests start processes, switches or transfers for most of what they prove; `make test-quick` leaves them out."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the slow folders, all that talk to a Prefect server, and of these the ones whose server `modelpivot up` brought up."""
    root = Path(__file__).parent
    for item in items:
        if {"prefect_api", "upped"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("prefect")
        if "upped" in getattr(item, "fixturenames", ()):
            item.add_marker("up")
        if item.path.relative_to(root).parts[0] in SLOW:
            item.add_marker("slow")


@pytest.fixture
def host(tmp_path: Path) -> HostConfig:
    """A host whose roots lie in the test's folder, without a Hub."""
    return HostConfig(
        name="test-host",
        weights_root=tmp_path / "weights",
        environments_root=tmp_path / "environments",
        state_dir=tmp_path / "state",
        supervisor="process",
        hub_endpoint="http://127.0.0.1:9",
        disk_reserve_bytes=0,
    )


@pytest.fixture
def state(host: HostConfig) -> StatePaths:
    """The state of `host`."""
    host.state_dir.mkdir(parents=True, exist_ok=True)
    return StatePaths(host.state_dir)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Turn a skip into a failure where MODELPIVOT_TEST_NO_SKIP is set (`.ci/run`); one for what the machine itself cannot do stays a skip."""
    report = yield
    if os.environ.get(NO_SKIP) and report.skipped and not hasattr(report, "wasxfail") and UNABLE not in str(report.longrepr):  # type: ignore[attr-defined]
        report.outcome = "failed"  # type: ignore[attr-defined]
        report.longrepr = f"skipped where nothing may be missing: {report.longrepr}"  # type: ignore[attr-defined]
    return report
