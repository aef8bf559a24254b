"""What a person is asked, in words: pure texts that say what would be done and how much it is. Lists, no tables: the form is narrow."""

import time
from collections.abc import Collection, Sequence

from flows.approval import Request
from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.cleanup import CleanupPlan
from modelpivot.models.counted import counted
from modelpivot.models.cutover import Cutover
from modelpivot.models.plan import Plan
from modelpivot.models.reclaim import Item, ReclaimPlan
from modelpivot.models.release import Stopped
from modelpivot.models.size import say_bytes
from modelpivot.stages.benchmark import say_measurement

NO_DEADLINE_S = 7200.0
DECIDED_S = 5.0
"""Seconds after the deadline of a switch when the question ends: the host has decided by then, whatever the clocks say."""


def about_plan(plan: Plan) -> Request:
    """Every question of a plan that neither recipe nor form answered, with the packages that would change."""
    lines = [f"**{plan.recipe.name}** asks before anything is done. Nothing was changed so far, and nothing is held while you read.", ""]
    lines += [f"- {question.text}" for question in plan.questions]
    if asked := [change for change in plan.packages if change.answer != "pass"]:
        lines += ["", "Packages beside the live environment:", "", *(f"- {change}" for change in asked)]
    lines += [
        "",
        f"{plan.strategy[0].upper()}{plan.strategy[1:]}." if plan.strategy else "",
        "",
        "No, or no answer within a day: nothing is done.",
    ]
    about = "\n".join(question.text for question in plan.questions)
    return Request(what=f"go on with {plan.recipe.name}", markdown="\n".join(lines), about=about)


def about_hour(release_id: str, window: str, opens_at: float | None) -> Request:
    """Whether to switch outside the hours in which this host may be without its service."""
    opens = time.strftime(", which opens next at %H:%M UTC on %d %B", time.gmtime(opens_at)) if opens_at else ""
    lines = [
        f"**{release_id}** is staged and proved. A switch now stops what serves for some minutes, outside this host's window: {window}{opens}.",
        "",
        "No, or no answer within a day: what serves goes on, what is staged stays for a cutover in the window.",
    ]
    return Request(what=f"switch to {release_id} outside the window", markdown="\n".join(lines), about=f"{release_id} outside {window}")


def about_promotion(cutover: Cutover, base_url: str, measurements: Sequence[Measurement], checks: Sequence[Check]) -> Request:
    """Whether the candidate that serves unconfirmed is kept, with its figures and the time when the switch decides by itself."""
    until = cutover.confirm_by or time.time() + NO_DEADLINE_S
    else_what = "keeps the new model" if cutover.stays_unconfirmed else f"goes back to {cutover.from_release}"
    no_what = "it goes back now" if cutover.from_release else "it stops now, and nothing serves, as before"
    lines = [
        f"**{cutover.to_release}** answers at {base_url}, unconfirmed. Try it, then decide.",
        "",
        f"No answer: the host {else_what} by itself at {time.strftime('%H:%M:%S UTC on %d %B', time.gmtime(until))}. "
        f"No: {no_what}. The switch so far: {counted(cutover.lost.lost_requests, 'request')} lost in {cutover.lost.downtime_s:.1f} s.",
        "",
        *(f"- {say_measurement(measurement)}" for measurement in measurements),
        *_say_checks(checks),
    ]
    return Request(
        what=f"promote {cutover.to_release}", markdown="\n".join(lines), timeout_s=until + DECIDED_S - time.time(), about=cutover.id
    )


def _say_checks(checks: Sequence[Check]) -> list[str]:
    """How many passed, and each that did not."""
    passed = [check for check in checks if check.passed]
    failed = [f"- **no**: {check}" for check in checks if not check.passed]
    return (
        [f"- {len(passed)} of {counted(len(checks), 'check')} passed", *failed]
        if checks
        else ["- nothing was measured: the recipe names no workload"]
    )


def about_rollback(current: str | None, previous: str) -> Request:
    """Whether to serve the release before, which costs the minutes of a switch."""
    lines = [
        f"**{previous}** would serve again instead of {current or 'nothing'}.",
        "",
        "The model that serves stops for the minutes of a switch; both stay on disk. No, or no answer within a day: nothing is done.",
    ]
    return Request(what=f"go back to {previous}", markdown="\n".join(lines))


def about_starting_again(stopped: Sequence[Stopped]) -> Request:
    """Whether what a cleanup stopped by name serves again: that goes back first, whatever served before it."""
    names = ", ".join(each.name for each in stopped)
    lines = [
        f"**{names}**, stopped by name, {'serves' if len(stopped) == 1 else 'serve'} again.",
        "",
        "A release is proved to answer, a service that was never adopted is started and enabled as it was. Nothing stops for it. "
        "No, or no answer within a day: nothing is done.",
    ]
    return Request(what=f"start {names} again", markdown="\n".join(lines))


def about_starts(release: str, starts: int) -> Request:
    """Whether an engine may be stopped and started for a measurement."""
    times = counted(starts - 1, "time")
    text = f"**{release}** would be measured in {starts} starts: it is stopped and started again {times}, a downtime each."
    return Request(what=f"start {release} again {times}", markdown=f"{text}\n\nNo, or no answer within a day: nothing is done.")


def about_reclaim(made: ReclaimPlan, named: Collection[str] = ()) -> Request:
    """Whether everything may go that asks for no more than a yes, and what the form names: what it is, how much it frees, what is lost with it."""
    going = made.agreed(is_agreed=True, named=named)
    freed = _say_freed(going)
    lines = [
        f"A yes deletes this and frees **{freed}**, at least. There is no way back.",
        "",
        *_list_going(made, going),
        "",
        "No, or no answer within a day: nothing is deleted.",
    ]
    return Request(what=f"delete {freed}", markdown="\n".join(lines), about=_identify(going))


def about_cleanup(made: CleanupPlan, named: Collection[str] = ()) -> Request:
    """Whether what is to stop may stop, and everything may go that asks for no more than a yes, and what the form names."""
    going = made.reclaim.agreed(is_agreed=True, named=named)
    names = ", ".join(each.name for each in made.to_stop)
    stops = f"stops {names}: **nothing serves then** until somebody starts it again. It also" if names else "stops nothing. It"
    lines = [
        f"A yes {stops} deletes this and frees **{_say_freed(going)}**, at least. There is no way back to what is deleted.",
        "",
        *_list_going(made.reclaim, going),
        "",
        "No, or no answer within a day: nothing is stopped and nothing is deleted.",
    ]
    return Request(what=f"clean up ({names or 'nothing stops'})", markdown="\n".join(lines), about=f"{names}\n{_identify(going)}")


def _say_freed(going: Sequence[Item]) -> str:
    """How much a yes frees, both units."""
    return say_bytes(sum(item.found.frees_bytes for item in going))


def _list_going(made: ReclaimPlan, going: Sequence[Item]) -> list[str]:
    """What goes with a yes: what it is, how much it frees, what is lost, and which of it the form names; how many things do not go."""
    lines = [
        f"- {item.found.what}{', named' if item.ask == 'named' else ''}: frees {say_bytes(item.found.frees_bytes)}; costs {item.found.costs}"
        for item in going
    ]
    gone = {item.id for item in going}
    more = sum(item.ask == "named" and item.id not in gone for item in made.items)
    left = [f"what stays ({len(made.kept)}) is listed with its reasons in the artifact of this run"]
    left += [f"{more} more would go only by name"] if more else []
    return [*(lines or ["- nothing"]), "", f"{'; '.join(left).capitalize()}.", *(f"\nNote: {warning}." for warning in made.warnings)]


def _identify(going: Sequence[Item]) -> str:
    """What an answer holds for: these things with these contents."""
    return "\n".join(f"{item.id} {' '.join(part.digest for part in item.found.parts)}" for item in going)
