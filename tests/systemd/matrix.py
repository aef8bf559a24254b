"""One host under cuts: every case pivots from what serves to a release that never served, is cut at one moment, and must end proved, alone and whole."""

import dataclasses
import functools
import hashlib
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from modelpivot.facts.endpoint import read_generates
from modelpivot.files import read_model, write_atomic
from modelpivot.models.cutover import Cutover
from modelpivot.models.recipe import Deadlines, Hooks, Probe
from modelpivot.models.release import Release
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import read_lock
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_book, read_release
from modelpivot.state.runs import read_events
from modelpivot.supervisors.control_group import is_in_group
from modelpivot.supervisors.lineage import read_rows
from modelpivot.supervisors.unit_text import unit_name
from tests.systemd.cutting import FILES, TREE, Cut, Moment, Victims, cut_at, moments_of, switch_began_at
from tests.systemd.units import ROOT, Units

PROJECT = Path(__file__).resolve().parents[2]
DEADLINES = Deadlines(drain_s=60, stop_s=1, free_s=60, ready_s=60, ready_max_s=120, probe_s=60, confirm_s=4)
Decision = Literal["promote", "return"]
BOUND_S = 180.0
"""Seconds from a cut, or from the boot after it, until the host has ended: many times what a stand-in needs that loads in 0.3 s, for a machine that is
busy. How long it took is shown."""
MARKS = ("standin.py", "vllm.entrypoints", "VLLM::", "signal.SIG_IGN", "modelpivot.cli.internal", "tests.systemd.run_tree")
"""In the command line of everything that a case starts."""


@dataclasses.dataclass(frozen=True)
class Seen:
    """What is on the host after a case."""

    is_open: bool
    phase: str
    current: str | None
    is_proved: bool
    problem: str
    """Why the current release does not generate; empty: it does."""
    strays: list[str]
    """Processes of any engine, switch or run beside the current release's own."""
    enabled: list[str]
    is_held: bool
    files: dict[str, str]

    @property
    def is_over(self) -> bool:
        """No switch is open, or one that never began; nobody holds the host, the release answers."""
        return (not self.is_open or self.phase == "intended") and not self.is_held and not self.problem and not self.strays


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a case ended."""

    moment: Moment
    cut: Cut | None
    outcome: str
    seconds: float
    """From the cut until the host had ended."""


class Matrix:
    """A host, and the cases that are played on it one after the other."""

    bound_s = BOUND_S

    def __init__(self, units: Units) -> None:
        self.units, self.count = units, 0
        self.old = units.serve(self.make_release())
        self.whole_s = 0.0
        """From its first word to the end of the longer of the two whole switches that nothing cut."""

    def make_release(self, fault: str = "none") -> Release:
        """A release with weights and a view of its own that never served."""
        self.count += 1
        name = f"r{self.count}"
        weights, view = ROOT / "weights" / name, ROOT / "releases" / name / "view"
        release = self.units.release(
            name,
            fault=fault,
            args=("--load-s", "0.3", "--stop-s", "0.2"),
            deadlines=DEADLINES,
            hooks=Hooks(drain=["true"], undrain=["true"]),
            probes=[Probe(kind="answer"), Probe(kind="logprobs")],
            weights_dir=weights,
            view_dir=view,
        )
        self.units.sandbox.call(put_files, release)
        return release

    @functools.cached_property
    def moments(self) -> list[tuple[Moment, Decision]]:
        """Every boundary of a switch that is promoted, then those of one that goes back: read from the journals of two that nothing cuts."""
        found: dict[Moment, Decision] = {}
        decisions: tuple[Decision, ...] = ("promote", "return")
        for decision in decisions:
            moments = self._read_moments(decision)
            files = [Moment("file", name) for name in FILES] if decision == "promote" else []
            for moment in [*moments[:-1], *files, moments[-1]]:
                found.setdefault(moment, decision)
        return list(found.items())

    def _read_moments(self, decision: Decision) -> list[Moment]:
        old, new = self.old, self.make_release()
        run = self.units.state.run(self._begin(new, decision))
        self._end(old, new, self._files())
        cutover = self.units.sandbox.call(read_model, run.cutover, Cutover)
        assert cutover
        events, _ = self.units.sandbox.call(read_events, run)
        self.whole_s = max(self.whole_s, cutover.phase_since - (switch_began_at(events) or 0))
        return moments_of(events, old.id, new.id)

    def play(self, moment: Moment, decision: Decision, victims: Victims, *, fault: str = "none", is_reboot: bool = False) -> Ended:
        """One case: cut there, wait for the end with nobody's help, and check what must be true."""
        old, new = self.old, self.make_release(fault)
        files, sandbox = self._files(), self.units.sandbox
        sign = signal.SIGSTOP if is_reboot else signal.SIGKILL
        run_id = f"run-{self.count}"
        with ThreadPoolExecutor(1) as aside:
            cutting = aside.submit(sandbox.call, cut_at, self.units.state, moment, old.id, new.id, run_id, victims, sign)
            self._begin(new, decision)
            cut = cutting.result()
        if is_reboot:
            sandbox.reboot()
        started = time.monotonic()
        seen = self._end(old, new, files)
        outcome = "untouched" if seen.is_open else "promoted" if seen.current == new.id else "returned"
        return Ended(moment, cut, outcome, time.monotonic() - started)

    def _begin(self, new: Release, decision: str) -> str:
        run_id = f"run-{self.count}"
        self.units.sandbox.shell(f"rm -f {TREE}")
        words = ["python", "-m", "tests.systemd.run_tree", new.id, self.old.id, decision, run_id]
        environment = f"PYTHONPATH={PROJECT} MODELPIVOT_STATE_DIR={ROOT} MODELPIVOT_WEIGHTS_ROOT={ROOT}/weights"
        self.units.sandbox.shell(f"cd /; {environment} setsid {sys.executable} {' '.join(words[1:])} >/run/tree.log 2>&1 </dev/null &")
        return run_id

    def _files(self) -> dict[str, str]:
        return self.units.sandbox.call(read_files)

    def _end(self, old: Release, new: Release, files: dict[str, str]) -> Seen:
        """Wait until the host has ended, then hold it against the promise."""
        run = self.units.state.run(f"run-{self.count}")

        def look() -> Seen | None:
            seen = self.units.sandbox.call(look_at, self.units.state, run.id)
            return seen if seen.is_over else None

        try:
            seen = self.units.wait(look, what="the host to end", deadline_s=self.bound_s)
        except Exception as error:
            raise AssertionError(self._tell(f"{error}")) from error
        assert seen is not None
        self._check(seen, old, new, files)
        self.old = self.units.sandbox.call(read_release, self.units.state, seen.current or "")
        if seen.is_open:  # an intent that nobody carried out: the next run, or the next boot, closes it
            self.units.sandbox.shell(f"rm {self.units.state.cutover}")
        return seen

    def _check(self, seen: Seen, old: Release, new: Release, files: dict[str, str]) -> None:
        assert seen.current in (old.id, new.id), self._tell(f"current is {seen.current}")
        assert seen.is_proved, self._tell(f"{seen.current} was never proved")
        assert seen.enabled == [f"modelpivot-{seen.current}.service"], self._tell(f"enabled are {seen.enabled}")
        gone = {path for path, digest in files.items() if seen.files.get(path) != digest}
        assert not gone, self._tell(f"deleted or changed: {sorted(gone)}")

    def _tell(self, what: str) -> str:
        seen = self.units.sandbox.call(look_at, self.units.state, f"run-{self.count}")
        words = self.units.sandbox.shell(f"tail -5 /run/tree.log; tail -20 {ROOT}/runs/run-{self.count}/logs/switch.log; true")
        events, _ = self.units.sandbox.call(read_events, self.units.state.run(f"run-{self.count}"))
        return "\n".join([what, repr(dataclasses.replace(seen, files={})), words, *(f"{it.stage} {it.kind} {it.message}" for it in events)])


def put_files(release: Release) -> None:
    """Inside: weights, and a view that shows them."""
    shard = release.weights_dir / "model.safetensors"
    write_atomic(shard, release.id.encode() * 1000)
    release.view_dir.mkdir(parents=True, exist_ok=True)
    (release.view_dir / shard.name).symlink_to(shard)
    write_atomic(release.view_dir / "config.json", "{}")


def read_files() -> dict[str, str]:
    """Inside: digest of every file that is a release's own: weights, views, what is frozen."""
    paths = [*ROOT.glob("weights/**/*"), *ROOT.glob("releases/*/view/*"), *ROOT.glob("releases/*/release.json")]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()}


def look_at(state: StatePaths, run_id: str) -> Seen:
    """Inside: the host as it stands."""
    cutover, book, lock = read_cutover(state), read_book(state), read_lock(state)
    current = read_release(state, book.current) if book.current else None
    own = {f"/system.slice/{unit_name(current)}"} if current else set()
    return Seen(
        is_open=cutover is not None,
        phase=_phase(cutover),
        current=book.current,
        is_proved=book.current in book.proved,
        problem=read_generates(current.endpoint, key=None, timeout_s=10) if current else "nothing is current",
        strays=[words for pid in read_rows() if any(mark in (words := _words(pid)) for mark in MARKS) and not is_in_group(pid, own)],
        enabled=sorted(path.name for path in Path("/etc/systemd/system/multi-user.target.wants").glob("modelpivot-r[0-9]*")),
        is_held=lock is not None,
        files=read_files(),
    )


def _phase(cutover: Cutover | None) -> str:
    return cutover.phase if cutover else ""


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
