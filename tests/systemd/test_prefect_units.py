"""The units of server and worker: systemd finds nothing to say against them, they hold no secret, and a real systemd runs both."""

import re
import sys
from pathlib import Path

import httpx
import pytest

from modelpivot.host import run_command
from modelpivot.models.host import HostConfig
from modelpivot.up.environment import read_variables
from modelpivot.up.places import up_places
from modelpivot.up.units import NAMES, render_unit, write_units
from tests.lab.sandbox import ROOT, Sandbox
from tests.switching import wait_until


@pytest.fixture
def written(host: HostConfig, tmp_path: Path) -> Path:
    """Both units in a folder, and what they need."""
    folder = tmp_path / "units"
    write_units(host, up_places(host), folder, address="127.0.0.1", port=4200, database=None)
    return folder


def test_systemd_has_nothing_against_the_units(written: Path) -> None:
    """`systemd-analyze verify` says nothing: directives, sections, binaries."""
    result = run_command(["systemd-analyze", "verify", *(written / name for name in NAMES)], timeout_s=30, is_checked=False)
    ours = [line for line in result.stderr.splitlines() if str(written) in line]
    assert (result.returncode, ours) == (0, [])


def test_units_hold_no_secret(written: Path, host: HostConfig) -> None:
    """It is in the environment files, which the units only name, and which their owner alone reads."""
    places = up_places(host)
    secret = read_variables(places.client_env)["PREFECT_API_AUTH_STRING"].partition(":")[2]
    texts = [(written / name).read_text() for name in NAMES]
    assert len(secret) >= 32 and not [text for text in texts if secret in text or re.search(r"@[A-Z]+@", text)]
    assert all(str(places.root) in text for text in texts)


def test_the_worker_of_a_host_with_a_name_polls_its_own_queue(written: Path, host: HostConfig) -> None:
    """Beside what is for any host; the only host, without a name, polls all there is."""
    name = "modelpivot-worker.service"
    assert " --name test-host --work-queue default --work-queue test-host\n" in (written / name).read_text()
    unnamed = host.model_copy(update={"name": HostConfig().name})
    assert " --name localhost\n" in render_unit(name, unnamed, up_places(unnamed))


def test_written_again_they_stay_as_they_are(written: Path, host: HostConfig) -> None:
    """The same secret, the same bytes, the same time of change: systemd has nothing to reload."""
    places = up_places(host)
    paths = [*(written / name for name in NAMES), places.auth, places.server_env, places.client_env]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]
    write_units(host, places, written, address="127.0.0.1", port=4200, database=None)
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths] == before


def ask() -> int:
    """What the API answers to somebody without the secret, inside; 0: nothing."""
    try:
        return httpx.post("http://127.0.0.1:4200/api/flows/filter", json={}, timeout=5).status_code
    except httpx.HTTPError:
        return 0


@pytest.mark.long
@pytest.mark.prefect
def test_a_real_systemd_runs_server_and_worker(sandbox: Sandbox) -> None:
    """Started together, worker first in need of nothing but its own patience; the API refuses who has no secret; a killed server comes back."""
    sandbox.shell(
        f"cd / && PYTHONPATH={ROOT} MODELPIVOT_NAME=boxed {sys.executable} -m modelpivot up --units /etc/systemd/system"
        " && systemctl daemon-reload && systemctl start prefect-server && systemctl start --no-block modelpivot-worker",
        timeout_s=120,
    )
    try:
        wait_until(lambda: sandbox.call(ask) == 401, what="the server", deadline_s=180, interval_s=1)
        wait_until(lambda: sandbox.show("modelpivot-worker", "ActiveState") == "active", what="the worker", deadline_s=300, interval_s=1)
        told = sandbox.journal("modelpivot-worker")
        assert any("deployment pivot/pivot: in place" in line for line in told) and any("automation" in line for line in told)
        before = sandbox.show("prefect-server", "MainPID")
        sandbox.shell("systemctl kill --signal=KILL prefect-server")
        wait_until(
            lambda: sandbox.show("prefect-server", "MainPID") not in (before, "0"), what="another server", deadline_s=60, interval_s=1
        )
        secret = sandbox.read("/var/lib/modelpivot/prefect/auth").strip().partition(":")[2]
        shown = sandbox.shell("systemctl show prefect-server modelpivot-worker; journalctl --no-pager; ps -eo args")
        assert secret not in shown and "boxed" in shown
    finally:
        sandbox.shell("systemctl stop modelpivot-worker prefect-server; rm -rf /var/lib/prefect-server")
