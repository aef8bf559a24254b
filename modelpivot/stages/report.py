"""How a run ended, made of what lies on disk alone, so that anyone can make it: the flow, a command, or somebody after the flow was killed.

The truth about the service comes from the switch's record, the rest from the journal. The run's last word is an event of stage `run`:
`finished` with its outcome, or `failed` with the error and its exit code.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from modelpivot.files import read_model, write_model
from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.cutover import Cutover
from modelpivot.models.event import Event
from modelpivot.models.patched import PatchedFile
from modelpivot.models.release import Release
from modelpivot.models.result import ExitCode, RunOutcome, RunResult, StageTime
from modelpivot.models.upgrade import UpgradeResult
from modelpivot.state.cutovers import read_cutover_followed_by, read_cutover_of_run
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_book
from modelpivot.state.runs import is_run_alive, read_events

RUN = "run"
"""Stage name of what a run tells of itself."""

UNTIMED = (RUN, "switch")
"""What has its own beginning and end elsewhere: the run, and the switch, whose steps are timed one by one."""

WORST_FIRST = (
    ExitCode.NOTHING_SERVES,
    ExitCode.SWITCHED_BACK,
    ExitCode.INTERRUPTED,
    ExitCode.HELD,
    ExitCode.BLOCKED,
    ExitCode.PASSING,
    ExitCode.USAGE,
    ExitCode.INTERNAL,
    ExitCode.SAID_NO,
)
SWITCH_CODES = {"promoted": ExitCode.DONE, "returned": ExitCode.SWITCHED_BACK, "nothing_serves": ExitCode.NOTHING_SERVES}
SAID_NO: tuple[RunOutcome, ...] = ("regressed", "failed_to_start")
WENT_BACK = ("returned", "nothing_serves")
BLOCKED = (ExitCode.BLOCKED, ExitCode.HELD, ExitCode.USAGE)

_CHECKS = TypeAdapter(list[Check])
_PATCHED = TypeAdapter(list[PatchedFile])
_MEASUREMENTS = TypeAdapter(list[Measurement])


def report(state: StatePaths, run_id: str) -> RunResult:
    """One run, told as it stands now; outcome `open` while it or its switch goes on. Writes nothing."""
    events, _ = read_events(state.run(run_id))
    cutover = find_cutover(state, run_id, events)
    last = last_word(events)
    deciding = None if cutover and cutover.trial and cutover.outcome == "returned" else cutover
    outcome = _judge_outcome(deciding, last, is_alive=is_run_alive(state.run(run_id)))
    released = _serving(state, cutover)
    began = next((event.data for event in events if event.stage == RUN and event.kind == "started"), {})
    moved = cutover if cutover and cutover.outcome != "not_started" and not cutover.is_beside else None
    return RunResult(
        run_id=run_id,
        outcome=outcome,
        exit_code=_exit_code(outcome, deciding, last),
        message=_message(outcome, deciding, last),
        gate=_gate(last),
        released=released,
        previous=moved.from_release if moved and released == moved.to_release else read_book(state).previous,
        attempted=moved.to_release if moved and moved.outcome in WENT_BACK else None,
        base_url=_base_url(state, released),
        downtime_s=moved.lost.downtime_s if moved else None,
        lost_requests=moved.lost.lost_requests if moved else None,
        stages=stage_times(events),
        checks=_collect(events, "checks", _CHECKS),
        patched=_collect(events, "patched", _PATCHED),
        benchmark=_collect(events, "measurements", _MEASUREMENTS),
        cause=list(cutover.cause) if cutover and cutover.cause else _texts(last, "cause"),
        asks=_texts(last, "asks"),
        flow_run_id=_text(began.get("flow_run_id")),
        flow_run_url=_text(began.get("flow_run_url")),
        upgrade=read_model(state.run(run_id).upgrade, UpgradeResult),
    )


def write_report(state: StatePaths, run_id: str) -> RunResult:
    """The report, also written as the run's `result.json`."""
    result = report(state, run_id)
    write_model(state.run(run_id).result, result)
    return result


def worst(codes: Iterable[int]) -> int:
    """The exit code that tells the highest truth about the service; 0 of none."""
    found = set(codes)
    return next((int(code) for code in WORST_FIRST if code in found), max(found, default=0))


def last_word(events: Sequence[Event]) -> Event | None:
    """The run's own end as it told it; None: it has not, or was killed before it could."""
    return next((event for event in reversed(events) if event.stage == RUN and event.kind in ("finished", "failed")), None)


def find_cutover(state: StatePaths, run_id: str, events: Sequence[Event]) -> Cutover | None:
    """The switch that this run began or took up, open or closed; None: it never came to one."""
    if found := read_cutover_of_run(state, run_id) or read_cutover_followed_by(state, run_id):
        return found
    taken_up = next((event.data["cutover_run"] for event in reversed(events) if "cutover_run" in event.data), None)
    return read_cutover_of_run(state, taken_up) if isinstance(taken_up, str) else None


def stage_times(events: Sequence[Event]) -> list[StageTime]:
    """Every stage in the order of its first word, with the seconds and result of its last try; a step of the switch counts once a release."""
    times: dict[tuple[str, JsonValue], StageTime] = {}
    started: dict[tuple[str, JsonValue], float] = {}
    for event in events:
        key = (event.stage, event.data.get("release"))
        if event.stage in UNTIMED:
            continue
        if event.kind == "started":
            started[key] = event.at
            times[key] = StageTime(name=event.stage, seconds=0.0, result="running")
        elif event.kind in ("finished", "failed", "nothing_to_do"):
            seconds = event.data.get("seconds", event.at - started.get(key, event.at))
            result = "done" if event.kind == "finished" else event.kind
            times[key] = StageTime.model_validate({"name": event.stage, "seconds": seconds, "result": result})
    return list(times.values())


def _judge_outcome(cutover: Cutover | None, last: Event | None, *, is_alive: bool) -> RunOutcome:
    if (cutover and cutover.outcome is None) or (last is None and is_alive):
        return "open"
    if cutover and cutover.outcome and cutover.outcome != "not_started":
        return "rolled_back" if _was_asked_back(last) else cutover.outcome
    if last is None:
        return "interrupted"
    if last.kind == "finished":
        return TypeAdapter[RunOutcome](RunOutcome).validate_python(last.data.get("outcome"))
    code = last.data.get("exit_code")
    return "interrupted" if code == ExitCode.INTERRUPTED else "blocked" if code in BLOCKED else "failed"


def _was_asked_back(last: Event | None) -> bool:
    """Whether the run was there to bring the release before back, and says that it did."""
    return last is not None and last.kind == "finished" and last.data.get("outcome") == "rolled_back"


def _exit_code(outcome: RunOutcome, cutover: Cutover | None, last: Event | None) -> int:
    codes = [SWITCH_CODES[cutover.outcome]] if cutover and cutover.outcome in SWITCH_CODES else []
    codes += [ExitCode.SAID_NO] if outcome in SAID_NO else []
    if last and last.kind == "failed":
        code = last.data.get("exit_code")
        codes.append(ExitCode(code) if isinstance(code, int) else ExitCode.INTERNAL)
    if outcome == "interrupted":
        codes.append(ExitCode.INTERRUPTED)
    return worst(codes)


def _message(outcome: RunOutcome, cutover: Cutover | None, last: Event | None) -> str:
    if outcome == "open":
        return f"the switch to {cutover.to_release} is {cutover.phase}" if cutover else "the run goes on"
    if cutover and outcome in WENT_BACK:
        return cutover.reason
    if last:
        return last.message
    return "the run was ended from outside; what it staged stays, the next run goes on from there" if outcome == "interrupted" else ""


def _gate(last: Event | None) -> Literal["weights", "benchmark"] | None:
    found = last.data.get("gate") if last else None
    return "weights" if found == "weights" else "benchmark" if found == "benchmark" else None


def _serving(state: StatePaths, cutover: Cutover | None) -> str | None:
    """The release that answers, by the records: a closed switch says so itself, an open one by its phase."""
    if cutover is None or cutover.outcome == "not_started" or cutover.is_beside:
        book = read_book(state)
        return None if book.is_current_stopped else book.current
    if cutover.outcome is None:
        before = dict.fromkeys(("intended", "warming", "draining"), cutover.from_release)
        return (before | {"unconfirmed": cutover.to_release}).get(cutover.phase)
    return {"promoted": cutover.to_release, "returned": cutover.from_release}.get(cutover.outcome)


def _base_url(state: StatePaths, release_id: str | None) -> str | None:
    release = read_model(state.release(release_id).release, Release) if release_id else None
    return release.endpoint.base_url if release else None


def _collect(events: Sequence[Event], key: str, adapter: TypeAdapter) -> list:  # type: ignore[type-arg]
    """What the stages told under `key`, the last word of each stage; a step of the switch counts once a release."""
    told = {(event.stage, event.data.get("release")): event.data[key] for event in events if key in event.data}
    return [item for value in told.values() for item in adapter.validate_python(value)]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(event: Event | None, key: str) -> list[str]:
    value = event.data.get(key) if event else None
    return [str(item) for item in value] if isinstance(value, list) else []
