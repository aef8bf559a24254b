"""The half of an upgrade test in which something is tried: one trial, the releases by turns, measured until the figures tell, and the way back."""

import time
from dataclasses import dataclass, field

from flows import tasks
from flows.following import is_open, require_open
from modelpivot.errors import HostHeld, PreconditionError, SwitchFailed
from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.comparison import Comparison
from modelpivot.models.cutover import Cutover
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.models.upgrade import Relaxed
from modelpivot.plans.gate import judge_floors, judge_measured
from modelpivot.plans.relaxed import relaxations
from modelpivot.plans.upgrade_verdict import Said, judge_end, judge_figures
from modelpivot.recipes import read_engine
from modelpivot.stages.context import Context
from modelpivot.stages.place import Place, require_time
from modelpivot.stages.switch import follow_switch, is_unconfirmed
from modelpivot.stages.trial import has_time
from modelpivot.state.cutovers import read_cutover_of_run
from modelpivot.state.lock import acquire_lock, release_lock

MARGIN = 1.5
"""Times as long as the last round that the next may take."""


NOTHING = Said("cannot_tell", "nothing was tried")


@dataclass(frozen=True)
class Tryout:
    """What is tried: `turns` of each round, the candidate last."""

    place: Place
    plan: Plan
    recipe: Recipe
    candidate: Release
    turns: list[Release]
    base: Release | None
    """What its figures are held against: the current version there, or what was stopped for it and is the same model."""


@dataclass
class Tried:
    """What came of it, filled in on the way."""

    said: Said = NOTHING
    cause: list[str] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    comparison: Comparison | None = None
    relaxed: list[Relaxed] = field(default_factory=list)
    rounds: int = 0


class Trial:
    """The open trial of a run. SwitchFailed from any call says that it went back by itself."""

    def __init__(self, test: Tryout) -> None:
        self._context, self._place = test.place.context, test.place
        self.opened: Cutover | None = None
        self._starts = 0

    def bring_up(self, release: Release) -> None:
        """The next one, until it answers."""
        self._starts += 1
        if self.opened is None:
            self.opened = tasks.serve_trial(self._context, release, self._place.frm, self._place.times)
        else:
            self.opened = tasks.serve_next(self._context, self.opened, release, self._starts)

    def require_up(self) -> None:
        """Whether it did not go back meanwhile: what was measured of an engine that died under it says nothing."""
        if self.opened is not None:
            require_open(follow_switch(self._context, self.opened, until=is_unconfirmed))

    def has_time(self, seconds: float) -> bool:
        """Whether so much can still be tried."""
        return self.opened is not None and has_time(self.opened, seconds)

    def end(self, reason: str) -> None:
        """Have it go back, and wait for that; nothing to do when it did."""
        if self.opened is not None and is_open(self._context.state, self.opened):
            self.opened = tasks.go_back(self._context, self.opened, reason)


def try_out(test: Tryout) -> Tried:
    """One trial from its begin to the host as it was. SwitchFailed when nothing serves in the end, PreconditionError when it did not begin."""
    require_time(test.place)
    trial, tried = Trial(test), Tried()
    try:
        _try_rounds(test, trial, tried)
        if tried.said.verdict != "regressed":
            _try_without(test, trial, tried)
    except SwitchFailed:
        _take_end(test, tried)
    finally:
        trial.end("the trial is over")
    return tried


def measure_base(test: Tryout, tried: Tried) -> None:
    """The figures of what was stopped, in the start that brought it back; nothing to do where it was tried by turns, or is another model."""
    base, context = test.base, test.place.context
    is_of_use = tried.rounds > 0 and tried.said.verdict != "failed_to_start"
    if base is None or test.place.is_by_turns or not is_of_use or not test.recipe.workloads:
        return
    try:
        acquire_lock(context.state, run_id=context.run.id, what=f"run {context.run.id}")
    except HostHeld as error:
        context.journal("warning", f"what serves again is not measured: {error.message}")
        return
    try:
        tasks.benchmark(context, base, test.recipe, standing="accepted")
    finally:
        release_lock(context.state)
    _judge(test, tried)


def _try_rounds(test: Tryout, trial: Trial, tried: Tried) -> None:
    most = test.recipe.regression.starts if test.recipe.workloads else 1
    for _ in range(most):
        began = time.monotonic()
        for release in test.turns:
            trial.bring_up(release)
            measured = tasks.benchmark(test.place.context, release, test.recipe)
            trial.require_up()
            tried.measurements += measured if release == test.candidate else []
        tried.rounds += 1
        _judge(test, tried)
        if tried.said.verdict != "cannot_tell" or not trial.has_time(MARGIN * (time.monotonic() - began)):
            return


def _judge(test: Tryout, tried: Tried) -> None:
    """The verdict on what was measured so far."""
    looks, is_paired = test.recipe.regression.starts, test.place.is_by_turns
    tried.comparison = tasks.compare(test.place.context, test.recipe, test.candidate, test.base, is_paired=is_paired, looks=looks)
    checks: list[Check] = judge_measured(tried.measurements, test.recipe.points())
    checks += judge_floors(tried.measurements, test.recipe.floors) if test.place.capacity == "window" else []
    tried.said = judge_figures(checks, tried.comparison, has_workloads=bool(test.recipe.workloads))


def _try_without(test: Tryout, trial: Trial, tried: Tried) -> None:
    """The candidate once more for each reason for patches, without them. The first that is still needed ends the trial: its start fails."""
    context = test.place.context
    for relaxation in relaxations(test.plan, context.host, read_engine(test.recipe.engine.name)):
        release = tasks.patch_config(context, relaxation.plan)
        try:
            trial.bring_up(release)
        except SwitchFailed as error:
            if judge_end(_require_back(context), release.id).verdict == "failed_to_start":
                tried.relaxed.append(Relaxed(what=relaxation.what, is_needed=True, found=error.message))
            return
        tried.relaxed.append(Relaxed(what=relaxation.what, is_needed=False, found="it starts without, and answers as the probes ask"))


def _take_end(test: Tryout, tried: Tried) -> None:
    """The trial ended by itself: whose fault, and in whose words."""
    closed = _require_back(test.place.context)
    tried.said, tried.cause = judge_end(closed, test.candidate.id), list(closed.cause)


def _require_back(context: Context) -> Cutover:
    """The closed trial; SwitchFailed when nothing serves after it, PreconditionError when there is none."""
    closed = read_cutover_of_run(context.state, context.run.id)
    if closed is None or closed.outcome is None:
        raise PreconditionError("the trial is not over, and nobody follows it", hint="modelpivot status tells what it does")
    if closed.outcome == "nothing_serves":
        raise SwitchFailed(closed.reason, step=closed.failed_step, cause=closed.cause)
    return closed
