"""The verdict of an upgrade test: of how a trial ended early, or of its figures. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from modelpivot.models.benchmark import Check
from modelpivot.models.comparison import Change, Comparison
from modelpivot.models.cutover import Cutover
from modelpivot.models.upgrade import UpgradeResult, Verdict
from modelpivot.plans.gate import METRIC_WORDS, say_change

ENGINE_STEPS = ("serve", "ready", "probe", "confirm")
"""Steps of a switch that fail by the engine that comes up."""
FIGURE_VERDICTS: dict[str | None, Verdict] = {"passed": "passed", "improved": "passed", "regressed": "regressed"}


class Said(NamedTuple):
    """A verdict with its sentence."""

    verdict: Verdict
    message: str


def judge_end(closed: Cutover, candidate: str) -> Said:
    """Of a trial that ended before it was asked to, while `candidate` is the release that was to be proved."""
    up, step = closed.to_release, closed.failed_step
    if step not in ENGINE_STEPS:
        return Said("cannot_tell", f"the trial ended early: {closed.reason}")
    if up != candidate:
        return Said("cannot_tell", f"{up}, which is the current version, does not come up there either: {closed.reason}")
    word = "does not stay up" if step == "confirm" else "does not answer as it should" if step == "probe" else "does not start"
    return Said("failed_to_start", f"{up} {word}: {closed.reason}")


def judge_figures(checks: Sequence[Check], comparison: Comparison | None, *, has_workloads: bool) -> Said:
    """`checks`: that the figures are valid, and the recipe's floors where they count. Floors that are missed are a regression."""
    if not has_workloads:
        return Said("passed", "it starts and answers as the probes ask; the recipe measures nothing")
    if void := [str(check) for check in checks if not check.passed and check.name.endswith(": valid")]:
        return Said("cannot_tell", f"what was measured says nothing: {'; '.join(void)}")
    if missed := [str(check) for check in checks if not check.passed]:
        return Said("regressed", "; ".join(missed))
    if comparison is None:
        return Said("cannot_tell", "it starts and answers; nothing was measured to hold its figures against")
    verdict = FIGURE_VERDICTS.get(comparison.verdict, "cannot_tell")
    return Said(verdict, _say(comparison, verdict))


def _say(comparison: Comparison, verdict: Verdict) -> str:
    if not comparison.changes:
        return f"the figures cannot be compared: {'; '.join(comparison.refused) or 'there are none on both sides'}"
    shown = [change for change in comparison.changes if verdict != "regressed" or change.verdict == "regressed"]
    return "; ".join(say_metric(change) for change in shown)


def say_metric(change: Change) -> str:
    """`single: output tokens per second 52.1 (-13.2%, noise 2.1%): regressed`."""
    return f"{change.workload}: {METRIC_WORDS[change.metric]} {say_change(change)}"


def say_next(result: UpgradeResult) -> str:
    """What a person does now; empty: nothing."""
    version = f"{result.candidate_version} (run {result.run_id})"
    pinned = f"modelpivot run {result.pinned_recipe}" if result.pinned_recipe else "a pivot with that version"
    unneeded = "".join(f"; {one.what} is not needed any more" for one in result.relaxed if not one.is_needed)
    return {
        "passed": f"`{pinned}` makes it current{unneeded}",
        "regressed": f"stay on {result.current_version}; look at the report of {version} before anybody upgrades",
        "failed_to_start": f"stay on {result.current_version}; the cause names what to mend or to report upstream",
        "cannot_tell": f"the next test tries {version} again, and knows more of the noise",
    }.get(result.verdict, "")
