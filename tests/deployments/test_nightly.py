"""The nightly as it runs: its schedule paused on arrival, resumed near the clock, started by the server, carried out by a real worker, once."""

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, DeploymentUpdate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.schedules import CronSchedule

from modelpivot.state.releases import read_book
from tests.deployed import apply, read_state, start, wait_for_state, working
from tests.standin_wheel import build_wheel
from tests.switching import wait_until
from tests.world import World

NAME = "upgrade-test/upgrade-test"
OWN = "upgrade-test/gpu-01"


def runs_by_schedule() -> list[FlowRun]:
    """Runs of the nightly that its schedule made and a worker began."""
    found = get_client(sync_client=True).read_flow_runs(
        deployment_filter=DeploymentFilter(name=DeploymentFilterName(any_=["upgrade-test"]))
    )
    return [run for run in found if run.auto_scheduled and run.start_time]


@pytest.mark.usefixtures("deployed")
def test_it_arrives_paused_with_its_hour_and_runs_alone() -> None:
    """Cron and timezone are there, nothing runs before somebody resumes it; one at a time, a second one is cancelled."""
    nightly = get_client(sync_client=True).read_deployment_by_name(NAME)
    (schedule,) = nightly.schedules
    assert isinstance(schedule.schedule, CronSchedule)
    assert (schedule.active, schedule.schedule.timezone) == (False, "Europe/Berlin")
    assert nightly.global_concurrency_limit and nightly.global_concurrency_limit.limit == 1
    assert nightly.concurrency_options and nightly.concurrency_options.collision_strategy.value == "CANCEL_NEW"


def test_one_that_was_resumed_stays_so_when_all_is_put_in_place_again(deployed: World) -> None:
    """As at every start of a worker's unit: its hour, changed by a person, and its being on are the API's."""
    client = get_client(sync_client=True)
    nightly = client.read_deployment_by_name(OWN)
    cron = CronSchedule(cron="15 2 * * 1", timezone="Europe/Berlin")
    client.update_deployment_schedule(nightly.id, nightly.schedules[0].id, active=True, schedule=cron)
    try:
        apply(deployed)
        (schedule,) = client.read_deployment_by_name(OWN).schedules
        assert (schedule.active, schedule.schedule) == (True, cron)
    finally:
        client.update_deployment_schedule(nightly.id, nightly.schedules[0].id, active=False)


@pytest.mark.usefixtures("worker")
def test_its_hour_comes_and_it_runs_by_itself(old_serves: World) -> None:
    """Resumed for the next minute by the clocks of Berlin: the server makes the run, the worker carries it out, it passes, and what served serves."""
    build_wheel(old_serves.root / "wheels", "2.0")
    book, client = read_book(old_serves.state), get_client(sync_client=True)
    nightly = client.read_deployment_by_name(NAME)
    soon = datetime.now(ZoneInfo("Europe/Berlin")) + timedelta(seconds=100)  # its minute begins in 40 to 100 seconds
    cron = CronSchedule(cron=f"{soon.minute} {soon.hour} * * *", timezone="Europe/Berlin")
    (created,) = client.create_deployment_schedules(nightly.id, [DeploymentScheduleCreate(schedule=cron, active=True)])
    client.update_deployment(nightly.id, DeploymentUpdate(description=nightly.description))  # looked at within seconds, not a minute
    try:
        (run,) = wait_until(runs_by_schedule, what="the run that the schedule makes", deadline_s=300, interval_s=0.5)
    finally:
        client.delete_deployment_schedule(nightly.id, created.id)
    state = wait_for_state(run, deadline_s=400)
    assert (state.type, state.name) == (StateType.COMPLETED, "Passed"), state.message
    assert "2.0 against 1.0" in (state.message or "")
    assert (old_serves.serving, read_book(old_serves.state).current) == ("old", book.current)


@pytest.mark.usefixtures("worker", "old_serves")
def test_a_second_one_is_cancelled_while_one_runs() -> None:
    """CANCEL_NEW: of two that are started at once one does the work, the other ends Cancelled and does nothing."""
    ends = [wait_for_state(run, deadline_s=400) for run in [start(NAME, again=True) for _ in range(2)]]
    assert sorted(str(state.type) for state in ends) == [str(StateType.CANCELLED), str(StateType.COMPLETED)]


@pytest.mark.long
@pytest.mark.usefixtures("worker")
def test_the_nightly_of_another_host_runs_at_the_same_time(old_serves: World, tmp_path: Path) -> None:
    """A host's limit counts its own runs, and each run reaches the worker of its host: gpu-02, on which nothing serves, says so meanwhile."""
    other = {"MODELPIVOT_NAME": "gpu-02", "MODELPIVOT_STATE_DIR": str(tmp_path / "state")}
    apply(old_serves, **other)
    with working(old_serves, **other):
        first = start(OWN, recipe="slow", again=True)
        assert wait_for_state(first, "Running").name == "Running"
        second = wait_for_state(start("upgrade-test/gpu-02"))
    assert (second.name, "nothing is served" in str(second.message)) == ("Blocked", True), second
    assert read_state(first).name == "Running" and wait_for_state(first, deadline_s=400).name == "Passed"
