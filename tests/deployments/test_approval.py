"""Questions to a person: the run leaves process, worker and host until it is answered; nothing is done without a yes."""

import time

import pytest
from prefect.client.schemas.objects import StateType

from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import acquire_lock, read_lock, release_lock
from tests.deployed import UNTESTED, answer, begin_now, read_question, start, wait_for_state
from tests.world import World

pytestmark = pytest.mark.usefixtures("worker")


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


def test_a_person_promotes_what_was_measured(old_serves: World) -> None:
    """The new model serves unconfirmed while nobody is waited for; the form shows it; a yes promotes it, without a second measurement."""
    run = start("pivot/pivot", recipe="new", dry_run=False, promotion="person")
    assert wait_for_state(run, "Suspended").name == "Suspended"
    cutover = read_cutover(old_serves.state)
    assert cutover and cutover.phase == "unconfirmed" and old_serves.serving == "new"
    assert cutover.to_release in read_question(run) and "goes back to old-" in read_question(run)
    answer(run, agreed=True)
    ended = wait_for_state(run)
    assert (ended.type, ended.name, old_serves.serving) == (StateType.COMPLETED, "Completed", "new"), ended
    assert read_cutover(old_serves.state) is None


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
