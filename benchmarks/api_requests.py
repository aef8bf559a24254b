"""How many requests a minute a host makes to its Prefect API: a worker that waits, and a pivot with a download of more than a minute.

PYTHONPATH=. .venv/bin/python benchmarks/api_requests.py

A real server, a real worker and a real pivot of stand-in engines; between them and the server stands a proxy that counts request lines.
"""

import collections
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from prefect.settings import PREFECT_API_URL, temporary_settings

from deployments.apply import WORK_POOL, apply
from modelpivot.demo.ports import free_port
from modelpivot.weights.pace import Pace
from tests.deployed import start, wait_for_state
from tests.prefect_server import running_server
from tests.weights.repos import make_repo
from tests.world import World, make_world

REQUEST = re.compile(rb"(?:^|\r\n\r\n|\n)(?:GET|POST|PUT|PATCH|DELETE) /api/([a-z_]+)[^ ]* HTTP/1\.1\r\n")
IDLE_S = 120.0
MINUTE_S = 60.0


class CountingProxy:
    """Passes bytes on, and notes when a request began and what it asked."""

    def __init__(self, port: int) -> None:
        self._target, self.seen = port, list[tuple[float, str]]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except ConnectionRefusedError:  # the server has ended, and with it the measurement
                client.close()
                continue
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, is_counted: bool) -> None:
        with source, target:
            try:
                while block := source.recv(1 << 16):
                    if is_counted:
                        self.seen += [(time.monotonic(), match[1].decode()) for match in REQUEST.finditer(block)]
                    target.sendall(block)
            except OSError:
                pass


def busiest(seen: list[tuple[float, str]]) -> collections.Counter[str]:
    """The requests of the busiest minute, by what they ask."""
    windows = ([what for at, what in seen if began <= at < began + MINUTE_S] for began, _ in seen)
    busiest_window: list[str] = max(windows, key=len, default=[])
    return collections.Counter(busiest_window)


def tell(title: str, counted: collections.Counter[str]) -> None:
    """One line."""
    limited = sum(counted[name] for name in ("flow_runs", "task_runs", "flows"))
    parts = ", ".join(f"{name} {count}" for name, count in counted.most_common())
    sys.stdout.write(f"{title}: {counted.total()} requests in the busiest minute, {limited} of them about flows and runs ({parts})\n")


def measure(world: World, port: int) -> None:
    """Idle, then a pivot."""
    proxy = CountingProxy(port)
    argv = [sys.executable, "-m", "prefect", "worker", "start", "--pool", WORK_POOL, "--type", "process"]
    environment = {**os.environ, **world.environment, "PREFECT_API_URL": f"http://127.0.0.1:{proxy.port}/api"}
    with (world.root / "worker.log").open("wb") as log:
        worker = subprocess.Popen(argv, env=environment, cwd=world.root, stdout=log, stderr=log, start_new_session=True)
    try:
        time.sleep(IDLE_S)
        tell("a worker that waits", busiest(proxy.seen[len(proxy.seen) // 2 :]))
        proxy.seen.clear()
        run = start("pivot/pivot", recipe="big", dry_run=False, agreed=True)
        state = wait_for_state(run, deadline_s=400)
        tell(f"a pivot ({state.name}) and its worker", busiest(proxy.seen))
    finally:
        os.killpg(worker.pid, signal.SIGTERM)


def main() -> None:
    """Measure on a server of its own."""
    root = Path(tempfile.mkdtemp(prefix="api-requests-"))
    world, port = make_world(root / "world"), free_port()
    world.recipe("big")
    make_repo(world.root / "hub", "acme/big", shards=4, bytes_each=2_000_000)
    world.hub.pace = Pace(100_000)
    (root / "prefect").mkdir()
    os.environ |= {**world.environment, "PREFECT_HOME": str(root / "prefect")}
    try:
        with running_server(root / "prefect", port) as url:
            os.environ["PREFECT_API_URL"] = url
            with temporary_settings({PREFECT_API_URL: url}):
                list(apply())
                measure(world, port)
    finally:
        world.clean_up()
        world.hub.stop()


if __name__ == "__main__":
    main()
