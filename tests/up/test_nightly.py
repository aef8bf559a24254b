"""The nightly of this host, started through its deployment, carried out by the worker of `modelpivot up`: who is told of what, and how often."""

import os
import signal
import time
from datetime import UTC, datetime, timedelta

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, DeploymentUpdate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
from prefect.client.schemas.objects import FlowRun, State
from prefect.client.schemas.schedules import IntervalSchedule

from blocks import GpuHost
from modelpivot.files import read_model
from modelpivot.models.cutover import ProcessId
from modelpivot.state.cutovers import read_cutover, read_cutover_of_run
from modelpivot.state.lock import read_lock
from modelpivot.state.releases import list_releases, read_book
from modelpivot.supervisors.process import ProcessSupervisor
from tests.deployed import start, wait_for_state
from tests.standin_wheel import build_wheel
from tests.switching import wait_until
from tests.up.conftest import Upped, wait_for_loading

NAME = "upgrade-test/gpu-test"


class Nightly:
    """`measured` serves; the index has versions as they are published; runs are those of this host's own deployment, inside its window."""

    def __init__(self, upped: Upped) -> None:
        self.upped, self.versions = upped, 0
        upped.pivot_to("measured")
        self.current = read_book(upped.world.state).current
        hours = [time.strftime("%H:%M", time.gmtime(time.time() + 3600 * hour)) for hour in (-1, 3)]
        host = upped.world.host.model_copy(update={"window": "-".join(hours)})
        self._block = str(GpuHost(config=host).save("in-its-window", overwrite=True))

    def publish(self, **planted: str | float) -> str:
        """A newer version than any before."""
        self.versions += 1
        build_wheel(self.upped.world.root / "wheels", version := f"1.{self.versions}", **({"speed": 60.0} | planted))  # type: ignore[arg-type]
        return version

    def withdraw(self) -> None:
        """Leave the index with the version that serves."""
        for wheel in (self.upped.world.root / "wheels").glob("standin_engine-1.[1-9]*"):
            wheel.unlink()

    def begin(self, **parameters: str | bool) -> FlowRun:
        """A run through the API."""
        return start(NAME, host={"$ref": {"block_document_id": self._block}}, **parameters)

    def run(self, **parameters: str | bool) -> tuple[FlowRun, State[None]]:
        """A run to its end; the host is as it was."""
        run = self.begin(**parameters)
        state = wait_for_state(run, deadline_s=400)
        self.require_as_before()
        return run, state

    def require_as_before(self) -> None:
        """The same release answers, from the only engine there is; nobody holds the host."""
        state = self.upped.world.state
        supervisor = ProcessSupervisor(state)
        assert (self.upped.world.serving, read_book(state).current) == ("measured", self.current)
        assert [one.id for one in list_releases(state) if supervisor.processes(one)] == [self.current]
        assert read_cutover(state) is None and read_lock(state) is None


@pytest.fixture(scope="module")
def nightly(upped: Upped) -> Nightly:
    """One host for all tests of this file."""
    upped.shorten()
    return Nightly(upped)


def test_bad_news_comes_once_with_what_to_do_and_good_news_not_at_all(nightly: Nightly) -> None:
    """A version as good, the same once more, one that is a third slower, one that dies at its start: two alerts, each with version, figures or
    the engine's own words, host, the next move and the run's address."""
    nightly.publish()
    passed, state = nightly.run()
    assert state.name == "Passed", state
    unchanged, state = nightly.run()
    assert state.name == "NoChange", state
    slower = nightly.publish(speed=40.0)
    regressed, state = nightly.run(capacity="spare", model="recipe")
    assert state.name == "Regressed", state
    dying = nightly.publish(fault="die_at_start")
    failed, state = nightly.run()
    assert state.name == "FailedToStart", state
    receiver = nightly.upped.receiver
    alert = receiver.wait_for("Newer engine fails to start", str(failed.id))
    assert f"{dying} against 1.0" in alert.body and "e_score_correction_bias" in alert.body and "Do not upgrade" in alert.body
    alert = receiver.wait_for("Benchmark regressed", str(regressed.id))
    assert f"{slower} against 1.0" in alert.body and "-33.3%" in alert.body and "Do not promote" in alert.body
    for run in (regressed, failed):
        [alert] = receiver.about(str(run.id))
        assert "Host: gpu-test" in alert.body and f"/runs/flow-run/{run.id}" in alert.body
    assert not [alert for run in (passed, unchanged) for alert in receiver.about(str(run.id))]


def test_killed_in_its_window_it_is_told_and_the_host_is_as_it_was(nightly: Nightly) -> None:
    """SIGKILL to the run while the candidate loads in the place of what serves: back without anybody, Crashed, and one alert says where."""
    nightly.publish(fault="hang_loading")
    state = nightly.upped.world.state
    run = nightly.begin()
    loading = wait_for_loading(nightly.upped)
    owner = read_model(state.run(loading.run_id).owner, ProcessId)
    assert owner and nightly.upped.world.serving is None
    os.kill(owner.pid, signal.SIGKILL)
    assert wait_for_state(run).name == "Crashed"
    wait_until(lambda: read_cutover(state) is None and read_lock(state) is None, what="the way back", deadline_s=180)
    closed = read_cutover_of_run(state, loading.run_id)
    assert closed and (closed.outcome, closed.reason) == ("returned", "the run that tried it is gone")
    nightly.require_as_before()
    alert = nightly.upped.receiver.wait_for("Crashed", str(run.id))
    assert "Host: gpu-test" in alert.body and "modelpivot status" in alert.body
    assert nightly.upped.receiver.about(str(run.id)) == [alert]


def run_by_schedule() -> FlowRun:
    """A schedule of once a day that is due in some seconds; the run it makes, begun by the worker."""
    client = get_client(sync_client=True)
    deployment = client.read_deployment_by_name(NAME)
    soon = datetime.now(UTC) + timedelta(seconds=40)  # the server's own look at schedules must come before
    schedule = DeploymentScheduleCreate(schedule=IntervalSchedule(interval=timedelta(days=1), anchor_date=soon), active=True)
    before = {run.id for run in read_scheduled()}
    [made] = client.create_deployment_schedules(deployment.id, [schedule])
    client.update_deployment(deployment.id, DeploymentUpdate(description=deployment.description))  # looked at within seconds, not a minute
    try:
        [run] = wait_until(lambda: [one for one in read_scheduled() if one.id not in before], what="the scheduled run", deadline_s=180)
    finally:
        client.delete_deployment_schedule(deployment.id, made.id)
    return run


def read_scheduled() -> list[FlowRun]:
    """Runs of this host's nightly that a schedule made and a worker began."""
    only = DeploymentFilter(name=DeploymentFilterName(any_=["gpu-test"]))
    return [run for run in get_client(sync_client=True).read_flow_runs(deployment_filter=only) if run.auto_scheduled and run.start_time]


def test_a_nightly_that_does_not_come_is_told_once_and_again_only_after_the_next_one(nightly: Nightly) -> None:
    """Nothing within the window after a scheduled one: one alert, which names it, and no second one until the next scheduled one came and one is
    missed again. A run that somebody starts by hand begins no window: nobody waits for a second one."""
    receiver = nightly.upped.receiver
    nightly.withdraw()
    nightly.upped.shorten("modelpivot: nightly missed")
    by_hand, state = nightly.run()
    assert state.name == "NoChange", state
    for number in (1, 2):
        run = run_by_schedule()
        assert wait_for_state(run).name == "NoChange"
        alert = receiver.wait_for("Nightly missed", str(run.id))
        assert "gpu-test" in alert.subject and "What to do: look whether the schedule" in alert.body
        assert len(receiver.about("Nightly missed")) == number and not receiver.about("Nightly missed", str(by_hand.id))
    nightly.upped.shorten()
