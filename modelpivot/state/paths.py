"""The paths of the state, each built in one place."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunPaths:
    """Files of one run."""

    root: Path

    @property
    def id(self) -> str:
        """The run's id, which is its folder's name."""
        return self.root.name

    @property
    def events(self) -> Path:
        """Journal, one event a line."""
        return self.root / "events.jsonl"

    @property
    def upgrade(self) -> Path:
        """What an upgrade test found."""
        return self.root / "upgrade.json"

    @property
    def pinned_recipe(self) -> Path:
        """The recipe with the engine that an upgrade test tried."""
        return self.root / "candidate.yaml"

    @property
    def overrides(self) -> Path:
        """What the run does differently from its recipe."""
        return self.root / "overrides.json"

    @property
    def plan(self) -> Path:
        """The plan in force."""
        return self.root / "plan.json"

    @property
    def result(self) -> Path:
        """How the run ended."""
        return self.root / "result.json"

    @property
    def owner(self) -> Path:
        """The process that carries the run."""
        return self.root / "owner.json"

    @property
    def cutover(self) -> Path:
        """The closed switch of this run."""
        return self.root / "cutover.json"

    @property
    def verified(self) -> Path:
        """The shard table and verdict that the checks are made on."""
        return self.root / "verified.json"

    @property
    def checks(self) -> Path:
        """The result of the Great Expectations suite."""
        return self.root / "checks.json"

    @property
    def benchmark(self) -> Path:
        """What the benchmark client wrote, one folder a release and start."""
        return self.root / "benchmark"

    @property
    def staged(self) -> Path:
        """The candidate that the run completed beside what serves."""
        return self.root / "staged.json"

    @property
    def passed(self) -> Path:
        """What the candidate of this run's switch was measured at, written when the gate said yes."""
        return self.root / "passed.json"

    @property
    def pictures(self) -> Path:
        """The report with its pictures, one HTML file."""
        return self.root / "report.html"

    def log(self, name: str) -> Path:
        """Full output of a child or the switch."""
        return self.root / "logs" / f"{name}.log"


@dataclass(frozen=True)
class ReleasePaths:
    """Files of one release."""

    root: Path

    @property
    def release(self) -> Path:
        """The frozen release."""
        return self.root / "release.json"

    @property
    def recipe(self) -> Path:
        """The recipe that it was made of; absent: an adopted service, or a release of an earlier version."""
        return self.root / "recipe.json"

    @property
    def view(self) -> Path:
        """What the engine is started on."""
        return self.root / "view"

    @property
    def unit(self) -> Path:
        """Its process, written by the process supervisor."""
        return self.root / "unit.json"

    @property
    def probe_record(self) -> Path:
        """Log-probabilities of its first proof."""
        return self.root / "probe.json"

    @property
    def log(self) -> Path:
        """Output of the engine since its last start."""
        return self.root / "log"

    @property
    def gate(self) -> Path:
        """Where its engine waits at the gate, and who opens it; absent: nobody waits."""
        return self.root / "gate"

    @property
    def plain(self) -> Path:
        """Why this release is only ever started plain from now on; absent: it may come through the gate."""
        return self.root / "plain.txt"

    @property
    def caches(self) -> Path:
        """Compiled kernels, kept from start to start."""
        return self.root / "caches"


@dataclass(frozen=True)
class StatePaths:
    """Files of the host's state."""

    root: Path

    @property
    def book(self) -> Path:
        """Which release is current."""
        return self.root / "releases.json"

    @property
    def cutover(self) -> Path:
        """The open switch; absent: none."""
        return self.root / "cutover.json"

    @property
    def decision(self) -> Path:
        """What is asked of the open switch."""
        return self.root / "decision.json"

    @property
    def attached(self) -> Path:
        """Which run follows the open switch."""
        return self.root / "attached.json"

    @property
    def switch_guard(self) -> Path:
        """Held (flock) by the one living switch process."""
        return self.root / "switch.guard"

    @property
    def reserve(self) -> Path:
        """Bytes that an open switch holds, to be given up when the disk is full."""
        return self.root / "reserve"

    @property
    def lock(self) -> Path:
        """Who may change this host."""
        return self.root / "lock.json"

    @property
    def guard(self) -> Path:
        """Short exclusion around changes of the lock."""
        return self.root / "lock.guard"

    @property
    def api_key(self) -> Path:
        """The key that clients must send, 0600; made by a person."""
        return self.root / "api_key"

    @property
    def runs(self) -> Path:
        """All runs."""
        return self.root / "runs"

    @property
    def benchmarks(self) -> Path:
        """The benchmark history, where no other database is named."""
        return self.root / "benchmarks.sqlite"

    @property
    def unstored(self) -> Path:
        """Results that no database took yet, one file each."""
        return self.root / "unstored"

    @property
    def spare(self) -> Path:
        """Bytes that are given up when room must be made on a full disk."""
        return self.root / "spare"

    @property
    def reclaimed(self) -> Path:
        """What was reclaimed, one record each: enough to bring it in again."""
        return self.root / "reclaimed"

    def asked(self, port: int) -> Path:
        """How often we ourselves asked the engine on a port."""
        return self.root / f"asked-{port}"

    def release(self, release_id: str) -> ReleasePaths:
        """Files of a release."""
        return ReleasePaths(self.root / "releases" / release_id)

    def run(self, run_id: str) -> RunPaths:
        """Files of a run."""
        return RunPaths(self.runs / run_id)
