"""Who may change the host during a switch, and what is left for others."""

import os
import signal
import threading

import pytest

from modelpivot.errors import HostHeld, PreconditionError
from modelpivot.files import guarded
from modelpivot.models.cutover import Cutover
from modelpivot.stages.carry_out import carry_out
from modelpivot.stages.context import Context
from modelpivot.stages.promote import promote
from modelpivot.stages.recover import recover
from modelpivot.stages.switch import follow_switch, is_closed, is_unconfirmed, join_switch, start_switch
from modelpivot.state.cutovers import read_cutover, write_intent
from modelpivot.state.lock import acquire_lock, read_lock
from modelpivot.state.releases import read_book
from modelpivot.state.runs import read_events
from tests.switching import DEADLINES, SwitchHost, answers, wait_until


def test_lock_goes_to_the_switch(switch_host: SwitchHost) -> None:
    """While the switch is open its process holds the host, not the run that began it; nobody else gets it."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    lock = read_lock(switch_host.state)
    assert lock is not None
    assert lock.holder == cutover.switch
    assert lock.holder.pid != os.getpid()
    with pytest.raises(HostHeld, match="switch to new"):
        acquire_lock(switch_host.state, run_id="other", what="another run")


def test_second_switch_is_refused(switch_host: SwitchHost) -> None:
    """Another run cannot start a switch while one is open, and nothing changes."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    runner = switch_host.start_runner(old, new, "stay")
    switch_host.wait_for_phase("unconfirmed")
    with pytest.raises(HostHeld):
        start_switch(switch_host.context(), to=switch_host.release("third"), frm=old)
    assert answers(new)
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()


def test_run_takes_a_dead_runs_switch_up(switch_host: SwitchHost) -> None:
    """A run to the same release goes on with the open switch of a dead run, and finds the closed switch in its own folder."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    runner = switch_host.start_runner(old, new, "stay")
    switch_host.wait_for_phase("readying")
    with pytest.raises(HostHeld, match="run runner"):
        join_switch(switch_host.context(), new)
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()
    context = switch_host.context()
    joined = join_switch(context, new)
    assert joined is not None
    follow_switch(context, joined, until=is_unconfirmed)
    assert promote(context).outcome == "promoted"
    assert Cutover.model_validate_json(context.run.cutover.read_text()).id == joined.id


def test_open_switch_elsewhere_is_not_taken_up(switch_host: SwitchHost) -> None:
    """A run to another release does not take the open switch up."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    start_switch(switch_host.context(), to=new, frm=old)
    with pytest.raises(PreconditionError, match="to new is open"):
        join_switch(switch_host.context(), old)


def test_stale_intent_is_closed(switch_host: SwitchHost) -> None:
    """A switch process that finds the host held by somebody else by now closes its intent and touches nothing."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    stale = _intent(switch_host, token="of-a-dead-run")
    with switch_host.held_by_another():
        closed = carry_out(switch_host.config, switch_host.state, stale.id)
    assert closed is not None
    assert closed.outcome == "not_started"
    assert "is held by" in closed.reason
    assert answers(old)
    assert switch_host.supervisor.processes(new) == []


def test_intent_whose_switch_never_came(switch_host: SwitchHost) -> None:
    """An intent of a dead run whose switch process never took over is closed by `recover`: nothing was touched."""
    old = switch_host.serve(switch_host.release("old"))
    switch_host.release("new")
    before = switch_host.engines()
    _intent(switch_host, token="of-a-dead-run")
    closed = recover(switch_host.context())
    assert closed is not None
    assert closed.outcome == "not_started"
    assert switch_host.engines() == before
    assert answers(old)
    assert read_cutover(switch_host.state) is None


def test_recover_leaves_a_living_switch_alone(switch_host: SwitchHost) -> None:
    """Recovery beside a living switch does nothing."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    assert recover(switch_host.context()) is None
    assert promote(context).outcome == "promoted"


def test_run_that_holds_the_host_recovers(switch_host: SwitchHost) -> None:
    """A later run that got the free lock may recover what a dead switch left, though the token is another one by now."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    runner = switch_host.start_runner(old, new, "stay")
    cutover = switch_host.wait_for_phase("readying")
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()
    switch_host.kill_switch(cutover)
    wait_until(lambda: read_lock(switch_host.state) is None, what="the lock of the dead switch")
    context = switch_host.context()
    acquire_lock(switch_host.state, run_id=context.run.id, what="a later run", is_recovering=True)
    closed = recover(context)
    assert closed is not None
    assert closed.outcome == "returned"
    assert answers(old)


def test_a_recovery_that_fails_is_tried_again(switch_host: SwitchHost) -> None:
    """The process that is to take a dead switch back ends before it does: whoever follows it tries again, and it goes back."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    seen = switch_host.wait_for_phase("readying")
    switch_host.kill_switch(seen)
    closed: list[Cutover] = []
    follower = threading.Thread(target=lambda: closed.append(follow_switch(context, cutover, until=is_closed)))
    with guarded(switch_host.state.switch_guard):  # as if another process carried the switch out
        follower.start()
        wait_until(lambda: tells(context, "it touched nothing; trying again"), what="the first recovery to fail")
    follower.join()
    assert [one.outcome for one in closed] == ["returned"]
    assert answers(old)


def tells(context: Context, words: str) -> bool:
    """Whether the run's journal has a warning with these words."""
    return any(event.kind == "warning" and words in event.message for event in read_events(context.run)[0])


def test_promotion_that_was_written_stands(switch_host: SwitchHost) -> None:
    """A switch that died between writing the promotion and closing itself is closed as promoted: it does not go back."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    cutover = follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    switch_host.kill_switch(cutover)
    switch_host.make_current(new)
    closed = recover(context)
    assert closed is not None
    assert closed.outcome == "promoted"
    assert answers(new)
    assert read_book(switch_host.state).current == "new"


def _intent(host: SwitchHost, *, token: str) -> Cutover:
    context = host.context()
    cutover = Cutover(
        id="stale", run_id=context.run.id, from_release="old", to_release="new", deadlines=DEADLINES, lock_token=token, created_at=1.0
    )
    write_intent(host.state, cutover)
    return cutover
