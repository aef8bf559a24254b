"""Starts a flow in a child process (`python -m flows`) and follows its journal, for the commands run and demo.

The flow outlives a command that is killed; Ctrl-C ends it before the switch, and asks the switch to go back during it.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import JsonValue

from modelpivot.errors import PreconditionError
from modelpivot.host import is_alive, kill_group
from modelpivot.models.cutover import Cutover
from modelpivot.models.event import Event
from modelpivot.models.host import HostConfig
from modelpivot.models.result import RunResult
from modelpivot.settings import to_environment
from modelpivot.stages.context import join_context
from modelpivot.stages.recover import recover
from modelpivot.stages.report import report
from modelpivot.state.cutovers import ask_decision, read_cutover_followed_by
from modelpivot.state.paths import RunPaths, StatePaths
from modelpivot.state.runs import read_events

PROJECT = Path(__file__).resolve().parents[1]
END_GRACE_S = 30.0
HEARTBEAT = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}
"""As prefect.yaml sets it: a run that says nothing for three times as long is marked Crashed (deployments/automations). Its patience with an API that
is away (PREFECT_CLIENT_MAX_RETRIES) is left at Prefect's minute: somebody waits for this run."""
LINGER_S = 20.0
ASKER = "MODELPIVOT_ASKER"
"""Set for a run whose questions its command puts to a person at the terminal: it ends with them, and is no failure."""


class FlowChild:
    """One flow run in a child process, and its journal."""

    def __init__(
        self, host: HostConfig, flow: str, parameters: Mapping[str, JsonValue], run_id: str, *, env: Mapping[str, str] | None = None
    ) -> None:
        self._host = host
        self.state = StatePaths(host.state_dir)
        self.run: RunPaths = self.state.run(run_id)
        self.run.root.mkdir(parents=True, exist_ok=True)
        self._offset = 0
        self._result_seen_at: float | None = None
        log = self.run.log("flow")
        log.parent.mkdir(parents=True, exist_ok=True)
        ours = {**to_environment(host), "MODELPIVOT_RUN_ID": run_id, "PYTHONPATH": _python_path()}
        environment = {**HEARTBEAT, **os.environ, **(env or {}), **ours}
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "flows", flow, "--json", json.dumps(dict(parameters))],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )

    def follow(self, on_event: Callable[[Event], None], *, interval_s: float = 0.1) -> RunResult:
        """Hand on every event until the run is over: the flow has ended and no switch of its is open. Ctrl-C: see `interrupt`."""
        while True:
            try:
                is_over = self._is_over()
                self._hand_on(on_event)
                if is_over:
                    return report(self.state, self.run.id)
                time.sleep(interval_s)
            except KeyboardInterrupt:
                self.interrupt(on_event)

    def interrupt(self, on_event: Callable[[Event], None]) -> None:
        """What Ctrl-C means: before the switch the flow ends and the state is kept; in the switch it is asked to go back."""
        if self._ask_back(on_event):
            return
        _warn(on_event, "ending; what is staged stays, the next run goes on from there")
        self.end()
        self._ask_back(on_event)  # it may have begun its switch in this very moment

    def _ask_back(self, on_event: Callable[[Event], None]) -> bool:
        """Ask the open switch of this run to return; False: there is none."""
        cutover = self._open_cutover()
        if cutover is None:
            return False
        with contextlib.suppress(PreconditionError):  # closed in this very moment: its outcome is read next
            ask_decision(self.state, "return", reason="interrupted")
            _warn(on_event, f"going back to {cutover.from_release}; the switch does it by itself")
        return True

    def end(self) -> None:
        """SIGTERM to the flow and its group, SIGKILL after half a minute."""
        kill_group(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(END_GRACE_S)
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
            self._process.wait()

    def _open_cutover(self) -> Cutover | None:
        return read_cutover_followed_by(self.state, self.run.id)

    def _is_over(self) -> bool:
        if self._process.poll() is None and not self._lingers():
            return False
        cutover = self._open_cutover()
        if cutover and cutover.switch and not is_alive(cutover.switch):
            recover(join_context(self._host, self.run.id))
        return cutover is None

    def _lingers(self) -> bool:
        """Whether the flow said its last word long ago: Prefect tries for minutes to reach an API that is away, which changes nothing here."""
        if self._result_seen_at is None and self.run.result.exists():
            self._result_seen_at = time.monotonic()
        return self._result_seen_at is not None and time.monotonic() - self._result_seen_at > LINGER_S

    def _hand_on(self, on_event: Callable[[Event], None]) -> None:
        events, self._offset = read_events(self.run, self._offset)
        for event in events:
            on_event(event)


def _warn(on_event: Callable[[Event], None], message: str) -> None:
    on_event(Event(at=time.time(), stage="run", kind="warning", message=message))


def _python_path() -> str:
    """`flows` is importable from any directory, installed or not."""
    inherited = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(PROJECT), *([inherited] if inherited else [])])
