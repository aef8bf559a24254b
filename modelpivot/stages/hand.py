"""What the switch process works with: the open switch it rewrites, the run's journal, the supervisor, and what is asked of it meanwhile."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from pydantic import JsonValue

from modelpivot.benchmark.client import Client
from modelpivot.errors import PivotError, SwitchFailed
from modelpivot.files import write_atomic
from modelpivot.models.cutover import UNTOUCHED, Cutover, Phase, StepTime, Trial
from modelpivot.models.event import Kind
from modelpivot.models.release import Release
from modelpivot.stages.gated import GatedStart
from modelpivot.state.cutovers import read_decision, write_cutover
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import Journal, is_run_alive
from modelpivot.supervisors.notify import pulse
from modelpivot.supervisors.protocol import Supervisor
from modelpivot.waiting import WaitedTooLong, wait_for

RESERVE_BYTES = 1_000_000

T = TypeVar("T")
R = TypeVar("R")


class AskedToReturn(PivotError):
    """The run, a person or a signal asked the switch to go back."""


class Hand:
    """One switch process at work. On the way back nothing that is asked of it counts any more."""

    def __init__(self, state: StatePaths, cutover: Cutover, supervisor: Supervisor, client: Client) -> None:
        self.state, self.cutover, self.supervisor, self.client = state, cutover, supervisor, client
        self.is_signalled = threading.Event()
        """Set by SIGTERM and SIGINT: the same as being asked to return."""
        self.gated: GatedStart | None = None
        """The new release's engine, waiting at its gate."""
        self._journal = Journal(state.run(cutover.run_id), "switch")

    def enter(self, phase: Phase) -> None:
        """Tell the disk what begins, before it begins; on the way back the phase stays `returning`."""
        if self.is_returning:
            phase = "returning"
        else:
            self.check()
        self.rewrite(phase=phase, phase_since=time.time())

    @property
    def is_returning(self) -> bool:
        """Whether the releases are exchanged."""
        return self.cutover.phase == "returning"

    def rewrite(self, **changes: object) -> None:
        """Change the open switch. A disk that takes no more stops nothing once it holds that the old release is touched: that leads back."""
        try:
            self.record(**changes)
        except OSError as error:
            if self.cutover.phase in UNTOUCHED and changes.get("phase") != "returning":
                raise
            self.tell("switch", "warning", f"the state cannot be written: {error}")
            self.cutover = self._changed(changes)

    def record(self, **changes: object) -> None:
        """The same for what must be on disk before anything is done; OSError when it is not."""
        changed = self._changed(changes)
        write_cutover(self.state, changed)
        self.cutover = changed

    def _changed(self, changes: Mapping[str, object]) -> Cutover:
        return self.cutover.model_copy(update={"lost": self.client.result(has_open_gap=False), **changes})

    def take_reserve(self) -> None:
        """Hold some bytes of the state's disk, so that the way back can write its files when the disk fills up meanwhile."""
        write_atomic(self.state.reserve, b"\0" * RESERVE_BYTES)

    def free_reserve(self) -> None:
        """Give those bytes back to the disk; nothing to do when they are free, or the disk takes no change at all."""
        with contextlib.suppress(OSError):
            self.state.reserve.unlink(missing_ok=True)

    def tell(self, stage: str, kind: Kind, message: str = "", **data: JsonValue) -> None:
        """Tell the run's journal; the switch goes on without it when the disk takes no more."""
        with contextlib.suppress(OSError):
            self._journal.stage(stage)(kind, message, **data)

    @contextlib.contextmanager
    def step(self, name: str, release: Release) -> Iterator[None]:
        """One step with its time, told to the journal and remembered in the switch."""
        began = time.monotonic()
        self.tell(name, "started", release=release.id)
        try:
            yield
        except BaseException as error:
            self._note(name, release, began, "failed", str(getattr(error, "message", error)))
            raise
        self._note(name, release, began, "finished", "")

    def _note(self, name: str, release: Release, began: float, kind: Kind, message: str) -> None:
        seconds = round(time.monotonic() - began, 3)
        result = StepTime(name=name, seconds=seconds, result="done" if kind == "finished" else "failed", release=release.id)
        self.cutover = self.cutover.model_copy(update={"steps": [*self.cutover.steps, result]})
        self.tell(name, kind, message, seconds=seconds, release=release.id)

    def is_at_gate(self, release: Release) -> bool:
        """Whether this release's engine waits at its gate: its processes are there and hold nothing yet."""
        return self.gated is not None and self.gated.release.id == release.id

    def take_gated(self) -> GatedStart:
        """The engine at its gate, to be opened or closed now."""
        assert self.gated is not None
        gated, self.gated = self.gated, None
        return gated

    def close_gate(self) -> None:
        """Whoever waits at the gate ends; nothing to do when nobody does."""
        if self.gated is not None:
            self.take_gated().close()

    def check(self) -> None:
        """AskedToReturn when somebody asked; nothing counts on the way back. A switch that never comes by here hangs."""
        pulse()
        if self.is_returning:
            return
        if self.is_signalled.is_set():
            raise AskedToReturn("the switch process was told to end")
        decision = read_decision(self.state, self.cutover.id)
        if decision and decision.decision == "return":
            raise AskedToReturn(decision.reason)
        if trial := self.cutover.trial:
            self._check_trial(trial)

    def _check_trial(self, trial: Trial) -> None:
        if time.time() >= trial.turn_at:
            raise AskedToReturn("the time for the trial is over")
        if not is_run_alive(self.state.run(self.cutover.run_id)):
            raise AskedToReturn("the run that tried it is gone")

    def wait(
        self,
        read: Callable[[], T],
        judge: Callable[[T, float], R | None],
        *,
        step: str,
        what: str,
        deadline_s: float,
        interval_s: float = 0.1,
    ) -> R:
        """`wait_for`, ended early by who asks for the way back. SwitchFailed at the deadline."""

        def read_and_check() -> T:
            self.check()
            return read()

        try:
            return wait_for(read_and_check, judge, what=what, deadline_s=deadline_s, interval_s=interval_s)
        except WaitedTooLong as error:
            raise SwitchFailed(error.message, step=step, hint=error.hint) from error


class Aside:
    """A call on a thread of its own, so that one that hangs keeps nobody from looking at the engine."""

    def __init__(self, call: Callable[[], str]) -> None:
        self._answer: str | None = None
        self._error: Exception | None = None
        self._call = call
        threading.Thread(target=self._run, daemon=True, name="aside").start()

    def _run(self) -> None:
        try:
            self._answer = self._call()
        except Exception as error:  # noqa: BLE001 - it is raised again where the answer is read
            self._error = error

    def read(self) -> str | None:
        """The answer; None while there is none. What the call raised is raised here."""
        if self._error is not None:
            raise self._error
        return self._answer
