"""Questions to a person: the run leaves process, worker and host until it is answered; nothing is done without a yes."""

import shutil
import time

import pytest
from prefect.client.schemas.objects import StateType

from modelpivot.benchmark.keep import keep, look_back
from modelpivot.files import write_model
from modelpivot.models.benchmark import StoredResult
from modelpivot.models.cutover import Cutover
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import acquire_lock, read_lock, release_lock
from modelpivot.state.releases import read_book
from tests.benchmark.results import result
from tests.deployed import UNTESTED, answer, begin_now, read_question, start, wait_for_state
from tests.flows.asked import newest_event
from tests.reclaiming import Pile
from tests.switching import wait_until
from tests.world import World

pytestmark = pytest.mark.usefixtures("worker")


def measure_by_hand(world: World, cutover: Cutover) -> StoredResult:
    """A result of the run that began the switch, as a real engine's benchmark leaves it: the stand-in cannot be measured."""
    one = result(60.0, run_id=cutover.run_id, release=cutover.to_release, standing="measured")
    keep(world.state, [one])
    return one


def standing_of(world: World, measured: StoredResult) -> str:
    """What became of it."""
    return next(one.standing for one in look_back(world.state)[0] if one.id == measured.id)


def test_a_question_is_asked_in_words_and_holds_nothing(old_serves: World) -> None:
    """An engine that was not tested: Suspended, the form names it, the host is free; a no ends Blocked with the note, nothing was changed."""
    run = start("stage/stage", recipe=UNTESTED)
    assert wait_for_state(run, "Suspended").name == "Suspended"
    assert "1.1, which was not tested here" in read_question(run) and read_lock(old_serves.state) is None
    environments = sorted(old_serves.host.environments_root.glob("*"))
    answer(run, agreed=False, note="after the holidays")
    ended = wait_for_state(run)
    assert (ended.name, "after the holidays" in str(ended.message)) == ("Blocked", True), ended
    assert sorted(old_serves.host.environments_root.glob("*")) == environments and old_serves.serving == "old"


def test_a_dry_run_says_what_it_would_ask_and_asks_nobody(old_serves: World) -> None:
    """Planned, and no question waits for an answer; the state's message holds the question."""
    ended = wait_for_state(start("pivot/pivot", recipe=UNTESTED), "Suspended")
    assert ended.name == "Planned" and "asks first: use standin-engine 1.1, which was not tested here" in str(ended.message), ended
    assert old_serves.serving == "old"


def test_a_person_promotes_what_was_measured(old_serves: World) -> None:
    """The new model serves unconfirmed while nobody is waited for; the form shows it; a yes promotes it, without a second measurement."""
    run = start("pivot/pivot", recipe="new", dry_run=False, promotion="person")
    assert wait_for_state(run, "Suspended").name == "Suspended"
    cutover = read_cutover(old_serves.state)
    assert cutover and cutover.phase == "unconfirmed" and old_serves.serving == "new"
    assert cutover.to_release in read_question(run) and "goes back to old-" in read_question(run)
    measured = measure_by_hand(old_serves, cutover)
    answer(run, agreed=True)
    ended = wait_for_state(run)
    assert standing_of(old_serves, measured) == "accepted"
    assert (ended.type, ended.name, old_serves.serving) == (StateType.COMPLETED, "Completed", "new"), ended
    assert read_cutover(old_serves.state) is None


def test_what_a_person_says_no_to_is_no_baseline(old_serves: World) -> None:
    """The gate said yes, the person no: the old model is back, and what was measured is refused."""
    run = start("pivot/pivot", recipe="new", dry_run=False, promotion="person")
    assert wait_for_state(run, "Suspended").name == "Suspended"
    cutover = read_cutover(old_serves.state)
    assert cutover is not None
    measured = measure_by_hand(old_serves, cutover)
    assert standing_of(old_serves, measured) == "measured"
    answer(run, agreed=False)
    assert wait_for_state(run).name == "RolledBack" and old_serves.serving == "old"
    assert standing_of(old_serves, measured) == "refused"


def test_what_a_person_sends_back_is_done_as_asked(old_serves: World) -> None:
    """A no to the run `promote` sends the new model back at once, and that run is Completed: it did what it was told. The pivot whose model went
    back is RolledBack; a yes to it that comes too late starts nothing."""
    pivot = start("pivot/pivot", recipe="new", dry_run=False, promotion="person")
    assert wait_for_state(pivot, "Suspended").name == "Suspended"
    run = start("promote/promote")
    assert wait_for_state(run, "Suspended").name == "Suspended" and "No: it goes back now" in read_question(run)
    answer(run, agreed=False)
    ended = wait_for_state(run)
    assert (ended.type, ended.name, old_serves.serving) == (StateType.COMPLETED, "Completed", "old"), ended
    assert read_cutover(old_serves.state) is None and read_lock(old_serves.state) is None
    told = wait_until(lambda: newest_event("modelpivot.promote.rolled_back", run), what="the outcome as an event of this run")
    assert told["payload"]["exit_code"] == 4
    answer(pivot, agreed=True)
    assert wait_for_state(pivot).name == "RolledBack" and old_serves.serving == "old"


def test_a_rollback_asks_about_what_a_cleanup_stopped(old_serves: World) -> None:
    """By its name, on a host with no release before it too: after a yes it serves again."""
    before = read_book(old_serves.state)
    cleanup = start("cleanup/cleanup", stop=["old"], dry_run=False, agreed=True, only=["kernels"])
    assert wait_for_state(cleanup).name == "Cleaned" and old_serves.serving is None
    write_model(old_serves.state.book, read_book(old_serves.state).model_copy(update={"previous": None}))
    try:
        run = start("rollback/rollback")
        assert wait_for_state(run, "Suspended").name == "Suspended"
        assert f"{before.current}, stopped by name, serves again" in read_question(run).replace("*", "")
        answer(run, agreed=True)
        ended = wait_for_state(run)
    finally:
        write_model(old_serves.state.book, read_book(old_serves.state).model_copy(update={"previous": before.previous}))
    assert ended.type == StateType.COMPLETED and old_serves.serving == "old", ended


@pytest.mark.parametrize("flow", ["reclaim", "cleanup"])
def test_what_the_form_names_goes_only_after_a_yes(old_serves: World, flow: str) -> None:
    """An id in the form is no agreement: the question lists it, and a no leaves it."""
    stray = Pile(old_serves.root).stray(f"asked-{flow}")
    try:
        run = start(f"{flow}/{flow}", dry_run=False, named=[f"weights:asked-{flow}"], only=["weights"])
        assert wait_for_state(run, "Suspended").name == "Suspended" and f"asked-{flow}" in read_question(run)
        answer(run, agreed=False)
        assert (wait_for_state(run).name, stray.exists()) == ("Blocked", True)
    finally:
        shutil.rmtree(stray)


def test_a_held_host_puts_the_run_back_into_the_queue(old_serves: World) -> None:
    """AwaitingHost, with who holds it; the process is gone, and when the host is free the same run goes on."""
    acquire_lock(old_serves.state, run_id="other", what="a test")
    try:
        run = start("stage/stage", recipe="new")
        queued = wait_for_state(run, "AwaitingHost")
        assert queued.name == "AwaitingHost" and "a test" in str(queued.message)
        due = queued.state_details.scheduled_time
        assert due is not None and 30 < due.timestamp() - time.time() <= 60
    finally:
        release_lock(old_serves.state)
    begin_now(run)
    assert wait_for_state(run).name == "Staged"
