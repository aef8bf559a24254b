"""A run's report is made of records alone, and its exit code tells the highest truth about the service."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.cutover import Cutover, Lost, Outcome, Phase
from modelpivot.models.event import Kind
from modelpivot.models.recipe import Deadlines
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.models.result import RunResult
from modelpivot.stages.report import report, worst, write_report
from modelpivot.state.cutovers import attach_run, close_cutover, write_intent
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import record_current, write_release
from modelpivot.state.runs import Journal, open_run

RUN = "20261130-120000-demo-0001"


class Records:
    """A run's records, written piece by piece; its owner is this process until it is said to be dead."""

    def __init__(self, state: StatePaths) -> None:
        self.state, self.run = state, open_run(state, RUN)
        for name in ("old", "new"):
            write_release(state, _release(name))
        record_current(state, "old")

    def tell(self, stage: str, kind: Kind, message: str = "", **data: JsonValue) -> "Records":
        Journal(self.run, stage)(kind, message, **data)
        return self

    def die(self) -> "Records":
        self.run.owner.write_text('{"pid": 999999999, "start_time": 1, "boot_id": "another"}')
        return self

    def open_switch(self, phase: Phase, run_id: str = RUN) -> Cutover:
        cutover = Cutover(
            id="switch-1",
            run_id=run_id,
            from_release="old",
            to_release="new",
            deadlines=Deadlines(),
            lock_token="x",
            created_at=1.0,
            phase=phase,
        )
        write_intent(self.state, cutover)
        return cutover

    def close_switch(self, outcome: Outcome, **changes: object) -> "Records":
        cutover = self.open_switch("unconfirmed").model_copy(update={"phase": "closed", "outcome": outcome, **changes})
        close_cutover(self.state, cutover)
        return self

    def report(self) -> RunResult:
        return report(self.state, RUN)


@pytest.fixture
def records(state: StatePaths) -> Records:
    return Records(state)


def _release(name: str) -> Release:
    return Release(
        id=name,
        name=name,
        serving_digest="0" * 64,
        repo=f"acme/{name}",
        commit="0" * 40,
        weights_dir=Path("/w"),
        view_dir=Path("/v"),
        environment_dir=Path("/e"),
        engine="standin",
        engine_version="1",
        start=StartSpec(argv=["true"], environment={}, working_directory=Path("/")),
        endpoint=Endpoint(bind="127.0.0.1", port=8123, served_name=name),
    )


def test_a_promoted_run_names_what_serves_what_was_lost_and_where(records: Records) -> None:
    """Release, address, downtime and lost requests come from the closed switch."""
    records.tell("run", "started", flow_run_id="f", flow_run_url="http://here/f")
    records.close_switch("promoted", lost=Lost(asked=100, lost_requests=3, downtime_s=1.5))
    result = records.tell("run", "finished", "new serves", outcome="promoted").report()
    assert (result.outcome, result.exit_code, result.released, result.previous) == ("promoted", 0, "new", "old")
    assert (result.downtime_s, result.lost_requests, result.base_url) == (1.5, 3, "http://127.0.0.1:8123")
    assert (result.flow_run_id, result.flow_run_url, result.message) == ("f", "http://here/f", "new serves")


def test_going_back_outranks_the_gate_that_asked_for_it(records: Records) -> None:
    """A gate that says no after the switch ends 4 with the old release named, not 1; the engine's words are kept."""
    records.close_switch("returned", reason="too slow", cause=["KeyError: x"])
    result = records.tell("run", "failed", "single: too slow", exit_code=1).report()
    assert (result.outcome, result.exit_code, result.released, result.attempted) == ("returned", 4, "old", "new")
    assert (result.message, result.cause) == ("too slow", ["KeyError: x"])


@pytest.mark.parametrize(("ended", "code", "attempted"), [("returned", 4, "new"), ("promoted", 0, None)])
def test_a_run_that_was_to_go_back_and_did_is_rolled_back(records: Records, ended: Outcome, code: int, attempted: str | None) -> None:
    """Whether its switch was an open one that returned or one of its own that was promoted: the word is the run's, the code the service's."""
    records.close_switch(ended, reason="somebody asked for it")
    result = records.tell("run", "finished", "old serves again", outcome="rolled_back").report()
    assert (result.outcome, result.exit_code, result.attempted, result.message) == ("rolled_back", code, attempted, "old serves again")


def test_nothing_serves_is_said_and_names_no_address(records: Records) -> None:
    """The worst truth: exit 5, no release, no address."""
    result = records.close_switch("nothing_serves", reason="both died").tell("run", "failed", "x", exit_code=1).report()
    assert (result.outcome, result.exit_code, result.released, result.base_url) == ("nothing_serves", 5, None, None)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [(1, "failed"), (2, "blocked"), (3, "blocked"), (6, "failed"), (7, "blocked"), (70, "failed"), (130, "interrupted")],
)
def test_an_error_before_the_switch_keeps_its_own_code(records: Records, code: int, outcome: str) -> None:
    """Service untouched: the error's exit code is the run's, and the old release still serves."""
    result = records.tell("run", "failed", "why", exit_code=code).report()
    assert (result.exit_code, result.outcome, result.released, result.message) == (code, outcome, "old", "why")


def test_a_switch_that_never_began_is_no_switch(records: Records) -> None:
    """not_started leaves the run's own error to tell, and claims no downtime."""
    records.close_switch("not_started", reason="the port is taken")
    result = records.tell("run", "failed", "did not begin", exit_code=3).report()
    assert (result.exit_code, result.outcome, result.released, result.downtime_s) == (3, "blocked", "old", None)


def test_a_living_run_is_open(records: Records) -> None:
    """Without a last word and with its process alive a run has no result yet."""
    result = records.tell("preflight", "started").report()
    assert (result.outcome, [(stage.name, stage.result) for stage in result.stages]) == ("open", [("preflight", "running")])


def test_a_killed_run_is_interrupted(records: Records) -> None:
    """Without a last word and without its process a run was ended from outside: 130."""
    result = records.tell("download", "started").die().report()
    assert (result.outcome, result.exit_code) == ("interrupted", 130)


def test_a_killed_run_whose_switch_goes_on_is_open(records: Records) -> None:
    """The switch outlives its run; the candidate that answers unconfirmed is what is released now."""
    records.die().open_switch("unconfirmed")
    result = records.report()
    assert (result.outcome, result.released) == ("open", "new")


def test_a_killed_run_is_told_by_its_switch_in_the_end(records: Records) -> None:
    """Nobody wrote a last word, the switch went back by itself: 4 and interrupted, the service's truth first."""
    result = records.die().close_switch("returned", reason="nobody confirmed").report()
    assert (result.outcome, result.exit_code, result.message) == ("returned", 4, "nobody confirmed")


def test_a_run_that_took_up_a_switch_reports_it_as_its_own(records: Records) -> None:
    """The switch of another run, attached to: its end is this run's end."""
    other = "20261130-110000-demo-0000"
    open_run(records.state, other)
    cutover = records.open_switch("unconfirmed", run_id=other)
    attach_run(records.state, RUN)
    records.tell("run", "log", "taking up", cutover=cutover.id, cutover_run=other)
    assert records.report().outcome == "open"
    close_cutover(records.state, cutover.model_copy(update={"phase": "closed", "outcome": "promoted"}))
    assert records.tell("run", "finished", outcome="promoted").report().released == "new"


def test_stages_keep_their_order_and_the_last_try_counts(records: Records) -> None:
    """A stage that was run again shows its last try; a step of the switch counts once for each release."""
    records.tell("download", "started").tell("install", "started").tell("download", "failed", seconds=1)
    records.tell("install", "nothing_to_do", seconds=0.1).tell("download", "started").tell("download", "finished", seconds=2)
    for release in ("new", "old"):
        records.tell("serve", "started", release=release).tell("serve", "finished", seconds=3, release=release)
    found = [(stage.name, stage.seconds, stage.result) for stage in records.report().stages]
    assert found == [("download", 2, "done"), ("install", 0.1, "nothing_to_do"), ("serve", 3, "done"), ("serve", 3, "done")]


def test_checks_and_measurements_are_collected_from_the_stages(records: Records) -> None:
    """What stages told as checks and measurements stands in the report, each stage's last word."""
    check = Check(name="rows", passed=True)
    figures = {"successes": 2, "concurrency": 1, "duration_s": 1, "output_tokens": 4, "output_tokens_per_s": 4, "median_ttft_ms": 1}
    measured = Measurement.model_validate({"workload": "single", "requests": 2, "median_tpot_ms": 1, **figures})
    records.tell("check shards", "finished", checks=[check.model_dump(mode="json")])
    result = records.tell("benchmark", "finished", measurements=[measured.model_dump(mode="json")]).report()
    assert (result.checks, result.benchmark) == ([check], [measured])


def test_the_written_report_is_the_report(records: Records) -> None:
    """result.json holds what `report` says, and `report` alone writes nothing."""
    records.tell("run", "finished", "planned", outcome="planned").report()
    assert not records.run.result.exists()
    write_report(records.state, RUN)
    assert RunResult.model_validate_json(records.run.result.read_text()) == records.report()


def test_worst_orders_the_codes_as_the_contract_says() -> None:
    """5, 4, 130, 7, 3, 6, 1, and 0 of nothing."""
    order = [5, 4, 130, 7, 3, 6, 1, 0]
    for index, code in enumerate(order):
        assert worst(order[index:]) == code
    assert worst([]) == 0
