"""Start a release and wait until it generates. Called by the switch."""

import shutil
import time
from pathlib import Path

from modelpivot.errors import SwitchFailed
from modelpivot.facts.readiness import Ladder, read_ready
from modelpivot.facts.start_log import read_last_lines, read_start_log
from modelpivot.models.readiness import Readiness, StartFact, StartPhase
from modelpivot.models.release import Release
from modelpivot.plans.wait import judge_start
from modelpivot.stages.hand import Hand
from modelpivot.supervisors.lineage import read_memory_bytes
from modelpivot.supervisors.process import read_api_key

GROWTH_BYTES = 16_000_000
"""Memory that counts as progress."""
MEMORY_EVERY_S = 1.0
HELD_UP = "waiting"
"""Phase of a start that systemd has not come to yet."""
LOG_PAUSE = 3
"""Times as long as reading the log took, it is left alone: a flooded one must not keep us from seeing a death."""


def serve(hand: Hand, release: Release) -> bool:
    """Start the unit: open its gate where it waits at one, plain otherwise; nothing to do when it runs. Whether it came through a gate.

    CommandFailed when its binary does not start.
    """
    with hand.step("serve", release):
        is_gated = hand.is_at_gate(release) and hand.take_gated().open()
        hand.supervisor.start(release)
        shutil.rmtree(hand.state.release(release.id).gate, ignore_errors=True)  # of a start that a dead switch left behind
    return is_gated


def wait_until_ready(hand: Hand, release: Release) -> None:
    """Wait for the first generation: `ready_s` without progress, `ready_max_s` in all. SwitchFailed keeps the engine's own words."""
    with hand.step("ready", release):
        watch = StartWatch(hand, release)
        try:
            hand.wait(
                watch.read,
                lambda fact, _: judge_start(fact, ready_s=release.deadlines.ready_s),
                step="ready",
                what=f"{release.id} to generate",
                deadline_s=release.deadlines.ready_max_s,
            )
        except SwitchFailed as error:
            raise watch.with_cause(error) from error
        finally:
            watch.close()


class StartWatch:
    """Looks at an engine that starts; remembers what it saw last, to tell progress from silence."""

    def __init__(self, hand: Hand, release: Release) -> None:
        self._hand, self._release = hand, release
        self._log = hand.supervisor.log_path(release)
        self._phase, self._log_size, self._log_not_before = StartPhase(), -1, 0.0
        self._progress_at, self._memory_at, self._most_bytes = time.monotonic(), 0.0, 0
        key = read_api_key(release)
        self._ladder = Ladder(lambda: read_ready(release, key, lambda: hand.supervisor.processes(release)))

    def read(self) -> StartFact:
        """One look. The log is read after the process, so that a dead engine's last words are in it."""
        status = self._hand.supervisor.status(self._release)
        if status.is_held_up:
            return self._read_held_up()
        is_alive = status.state == "running"
        if self._has_new_phase(is_last=not is_alive) | self._has_more_memory():
            self._progress_at = time.monotonic()
        ready = self._ladder.last if is_alive else Readiness(missing="process", found="it ended")
        return StartFact(is_alive=is_alive, phase=self._phase, ready=ready, quiet_s=time.monotonic() - self._progress_at)

    def _read_held_up(self) -> StartFact:
        """Its engine was not executed yet: neither silence nor log are its own, and only `ready_max_s` counts."""
        self._progress_at, self._log_size = time.monotonic(), _size(self._log)
        if self._phase.word != HELD_UP:
            self._phase = StartPhase(word=HELD_UP)
            self._hand.tell("ready", "progress", "the unit waits for what systemd starts before its engine", release=self._release.id)
        return StartFact(is_alive=True, phase=self._phase, ready=self._ladder.last, quiet_s=0.0)

    def _has_new_phase(self, *, is_last: bool) -> bool:
        self._log = self._hand.supervisor.log_path(self._release)
        size, began = _size(self._log), time.monotonic()
        if size == self._log_size or (began < self._log_not_before and not is_last):
            return False
        before, self._log_size, self._phase = self._phase, size, read_start_log(self._log)
        self._log_not_before = time.monotonic() + LOG_PAUSE * (time.monotonic() - began)
        if str(before) != str(self._phase):
            self._tell()
        return before != self._phase

    def _tell(self) -> None:
        counted = {"done": self._phase.done, "total": self._phase.total} if self._phase.total else {}
        self._hand.tell("ready", "progress", str(self._phase), release=self._release.id, **counted)

    def _has_more_memory(self) -> bool:
        now = time.monotonic()
        if now - self._memory_at < MEMORY_EVERY_S:
            return False
        self._memory_at = now
        used = read_memory_bytes(self._hand.supervisor.processes(self._release))
        has_grown = used > self._most_bytes + GROWTH_BYTES
        self._most_bytes = max(self._most_bytes, used) if has_grown else self._most_bytes
        return has_grown

    def with_cause(self, error: SwitchFailed) -> SwitchFailed:
        """The same error with the engine's words for the cause, or its last ones where it named none."""
        if self._phase.word == HELD_UP:
            return error
        cause = error.cause or read_start_log(self._log).cause or read_last_lines(self._log, 5)
        return SwitchFailed(error.message, step="ready", cause=cause, hint=error.hint)

    def close(self) -> None:
        """Look no more."""
        self._ladder.close()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
