"""The mirror as a process of its own."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx

from modelpivot.waiting import wait_for
from tests.weights.repos import make_repo


def test_runs_as_a_process_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """It writes its address when it listens, serves, tells what it served, and ends with 0 at SIGTERM."""
    make_repo(tmp_path / "hub")
    ready = tmp_path / "ready"
    process = subprocess.Popen([sys.executable, "-m", "modelpivot.mirror", str(tmp_path / "hub"), "--ready-file", str(ready)])
    try:
        wait_for(ready.exists, lambda there, _: there or None, what="mirror listens", deadline_s=60, interval_s=0.05)
        base = ready.read_text().strip()
        answer = httpx.get(f"{base}/acme/tiny/resolve/main/config.json", follow_redirects=True, timeout=60)
        assert answer.json()["model_type"] == "tiny"
        assert httpx.get(f"{base}/-/served", timeout=60).json() == {"acme/tiny/config.json": len(answer.content)}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
