"""The units of server and worker: systemd finds nothing to say against them, they hold no secret, and a real systemd runs both."""

import json
import re
import sys
from pathlib import Path

import httpx
import pytest

from modelpivot.host import CommandResult, run_command
from modelpivot.models.hooks import Hooks
from modelpivot.models.host import HostConfig
from modelpivot.settings import to_environment
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
    result = run_command(["systemd-analyze", "verify", *(written / name for name in NAMES)], timeout_s=120, is_checked=False)
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


READ = "from modelpivot.settings import read_host_config as read; import os; print(os.environ['HF_TOKEN'], read().model_dump_json())"


def test_a_unit_reads_the_host_that_was_written(sandbox: Sandbox, host: HostConfig) -> None:
    """Window with days and zone, a hook with quotes, braces, dollar signs and backslashes, the token: systemd hands the worker each as it was."""
    hook = """curl -H "key: $KEY" -d '{"text": "a \\\\ b"}' `cat /etc/where` ${LOG} %n \\"""
    host = host.model_copy(
        update={"window": "Sun-Thu 01:00-05:00 Europe/Berlin", "hooks": Hooks(before=[hook]), "state_dir": Path("/var/lib/modelpivot")}
    )
    variables = {**to_environment(host), "HF_TOKEN": "hf_$planted", "PYTHONPATH": str(ROOT)}
    words = [f"{name}={value}" for name, value in variables.items()]
    sandbox.exec("env", *words, sys.executable, "-m", "modelpivot", "up", "--units", "/run/written")
    told = ["--property=EnvironmentFile=/var/lib/modelpivot/prefect/client.env", f"--setenv=PYTHONPATH={ROOT}"]
    said = sandbox.exec("systemd-run", "--quiet", "--wait", "--pipe", *told, sys.executable, "-c", READ).stdout
    assert said.strip() == f"hf_$planted {host.model_dump_json()}"


IN_PLACE = "/var/lib/modelpivot/prefect"


def up_again(sandbox: Sandbox, *words: str) -> CommandResult:
    """`modelpivot up` inside, in a shell that knows nothing of the host."""
    argv = ["env", "--chdir=/", f"PYTHONPATH={ROOT}", sys.executable, "-m", "modelpivot", "up", *words]
    return sandbox.exec(*argv, timeout_s=300, is_checked=False)


def test_up_beside_units_that_are_down_names_them(sandbox: Sandbox) -> None:
    """3 and what to start, where they are to run: no server besides, and what both read is as it was."""
    up_again(sandbox, "--units", "/etc/systemd/system")
    sandbox.shell("systemctl daemon-reload && systemctl enable prefect-server modelpivot-worker")
    try:
        before = sandbox.shell(f"cd {IN_PLACE} && sha256sum *.env")
        result = up_again(sandbox)
        assert result.returncode == 3 and "systemctl start prefect-server.service modelpivot-worker.service;" in result.stderr
        assert sandbox.shell(f"cd {IN_PLACE} && sha256sum *.env") == before and "server.process" not in sandbox.shell(f"ls {IN_PLACE}")
    finally:
        sandbox.shell("systemctl disable prefect-server modelpivot-worker; rm /etc/systemd/system/prefect-server.service")


def ask() -> int:
    """What the API answers to somebody without the secret, inside; 0: nothing."""
    try:
        return httpx.post("http://127.0.0.1:4200/api/flows/filter", json={}, timeout=5).status_code
    except httpx.HTTPError:
        return 0


def say_up_beside_them(sandbox: Sandbox) -> None:
    """`up` puts everything in place at the units' server, for the worker's host: nothing is started or written; what they do not take is refused."""
    before = sandbox.shell(f"cd {IN_PLACE} && sha256sum *.env")
    done = up_again(sandbox, "--json")
    told = json.loads(done.stdout)
    assert told["units"] == list(NAMES) and told["server"]["pid"] == int(sandbox.show("prefect-server", "MainPID"))
    assert "deployment upgrade-test/boxed: in place" in done.stderr and "nothing is started" in done.stderr
    refused = up_again(sandbox, "--port", "4300")
    assert refused.returncode == 3 and "--port 4300 (it has 4200)" in refused.stderr and "up --units" in refused.stderr
    assert sandbox.shell(f"cd {IN_PLACE} && sha256sum *.env") == before and "server.process" not in sandbox.shell(f"ls {IN_PLACE}")


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
        say_up_beside_them(sandbox)
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
