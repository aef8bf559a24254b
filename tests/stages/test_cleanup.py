"""The clean slate: only what is named stops, on purpose and on record; how it starts again; what may then go."""

from pathlib import Path

import pytest

from modelpivot.errors import GateFailed, HostHeld, PreconditionError
from modelpivot.models.cleanup import Cleaned
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release, Stopped
from modelpivot.stages.cleanup import cleanup, plan, require_clean
from modelpivot.stages.reclaim import Agreed
from modelpivot.stages.recover import recover
from modelpivot.stages.report import report
from modelpivot.stages.rollback import rollback
from modelpivot.stages.standing_down import start_again
from modelpivot.stages.switch import follow_switch, is_unconfirmed, start_switch
from modelpivot.stages.trial import start_trial
from modelpivot.state.releases import read_book, record_stopped
from modelpivot.state.runs import list_runs
from tests.cli.test_by_hand import command
from tests.reclaiming import Pile
from tests.switching import SwitchHost, answers


@pytest.fixture
def pile(switch_host: SwitchHost) -> Pile:
    """The roots of the switch host, with things in them."""
    pile = Pile(switch_host.root / "pile", state_dir=switch_host.config.state_dir)
    switch_host.config = pile.host
    return pile


def serve_from(host: SwitchHost, pile: Pile, name: str) -> tuple[Release, Path]:
    """A release that serves, on weights of its own below the root; these."""
    weights = pile.weights(f"acme/{name}")
    return host.serve(host.write(host.release(name).model_copy(update={"weights_dir": weights}))), weights


def clean(host: SwitchHost, *stop: str, yes: bool = True, named: tuple[str, ...] = ()) -> Cleaned:
    """Plan and carry out."""
    context = host.context()
    return cleanup(context, plan(context, stop=stop), Agreed(is_agreed=yes, named=named), stop=stop)


def test_what_is_named_stops_on_record(switch_host: SwitchHost, pile: Pile) -> None:
    """Nothing of it is left, ports and GPUs are proved free; it stays the current release, status says why nothing serves, and that is no fault."""
    old = switch_host.serve(switch_host.release("old"))
    done = clean(switch_host, "old")
    assert (done.stopped, done.obstacles, done.again) == (["old"], [], "modelpivot recover")
    assert switch_host.engines() == [] and not answers(old)
    book = read_book(switch_host.state)
    assert book.current == "old" and [each.name for each in book.stopped] == ["old"]
    code, told = command(switch_host, "status")
    assert code == 0 and told["answers"] is False and "modelpivot recover" in told["stopped"]


def test_recover_starts_it_again(switch_host: SwitchHost, pile: Pile) -> None:
    """Through a switch, until it generates; nothing is stopped by name any more. A second time there is nothing to do."""
    old = switch_host.serve(switch_host.release("old"))
    clean(switch_host, "old")
    closed = recover(switch_host.context())
    assert closed and closed.outcome == "promoted" and answers(old)
    assert read_book(switch_host.state).stopped == [] and recover(switch_host.context()) is None


def test_rollback_undoes_the_cleanup_first(switch_host: SwitchHost, pile: Pile) -> None:
    """What was stopped by name serves again, not the release before it; once more goes back to that."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    assert switch_host.switch(old, new).outcome == "promoted"
    clean(switch_host, "new")
    closed = rollback(switch_host.context())
    assert closed and closed.to_release == "new" and answers(new)
    closed = rollback(switch_host.context())
    assert closed and closed.to_release == "old" and answers(old)


def test_what_cannot_be_started_keeps_nothing_else_down(switch_host: SwitchHost, pile: Pile) -> None:
    """A release and a service that no systemd is here for: the release answers, the service stays on record, and the exit code says that not all is
    well, which is not that nothing serves."""
    old = switch_host.serve(switch_host.release("old"))
    record_stopped(switch_host.state, Stopped(name="lost.service", is_release=False, at=1.0))
    clean(switch_host, "old")
    assert [each.name for each in read_book(switch_host.state).stopped] == ["lost.service", "old"]
    code, told = command(switch_host, "recover")
    assert (code, "lost.service is a systemd service" in told["message"], answers(old)) == (1, True, True), told
    assert [each.name for each in read_book(switch_host.state).stopped] == ["lost.service"]
    run = report(switch_host.state, list_runs(switch_host.state)[0].id)
    assert (run.exit_code, run.released) == (1, "old")


def test_a_release_that_is_down_unasked_is_no_clean_slate(switch_host: SwitchHost, pile: Pile) -> None:
    """Something else was stopped by name: status ends 5 for the current release all the same, and recover starts that, whatever else it cannot."""
    old = switch_host.serve(switch_host.release("old"))
    record_stopped(switch_host.state, Stopped(name="lost.service", is_release=False, at=1.0))
    switch_host.supervisor.stop(old, timeout_s=1)
    code, told = command(switch_host, "status")
    assert (code, "lost.service" in told["stopped"]) == (5, True)
    with pytest.raises(PreconditionError, match=r"lost\.service is a systemd service"):
        recover(switch_host.context())
    assert answers(old)


def test_a_pivot_after_it(switch_host: SwitchHost, pile: Pile) -> None:
    """A new release is switched to as ever; one that fails goes back to the release that was stopped: somebody serves."""
    old = switch_host.serve(switch_host.release("old"))
    clean(switch_host, "old")
    assert switch_host.switch(old, switch_host.release("bad", fault="die_at_start")).outcome == "returned"
    assert answers(old) and read_book(switch_host.state).stopped == []
    clean(switch_host, "old")
    new = switch_host.release("new")
    assert switch_host.switch(old, new).outcome == "promoted" and answers(new)
    assert read_book(switch_host.state).stopped == []


def test_no_trial_starts_it(switch_host: SwitchHost, pile: Pile) -> None:
    """A nightly ends with the current release up: on a host that was stopped by name it does not begin."""
    old = switch_host.serve(switch_host.release("old"))
    clean(switch_host, "old")
    with pytest.raises(PreconditionError, match="stopped by name"):
        start_trial(switch_host.context(), to=switch_host.release("new"), frm=old, turn_at=2e9, back_by=2e9)
    assert switch_host.engines() == []


@pytest.mark.parametrize("words", [((), True), (("old",), False)], ids=["not named", "not agreed"])
def test_nothing_stops_unasked(switch_host: SwitchHost, pile: Pile, words: tuple[tuple[str, ...], bool]) -> None:
    """Neither a yes without a name, nor a name without a yes."""
    old = switch_host.serve(switch_host.release("old"))
    stop, yes = words
    if stop:
        with pytest.raises(PreconditionError, match="nobody agreed"):
            clean(switch_host, *stop, yes=yes)
    else:
        assert clean(switch_host).stopped == []
    assert answers(old) and read_book(switch_host.state).stopped == []


def test_a_name_that_serves_nothing_blocks(switch_host: SwitchHost, pile: Pile) -> None:
    """What serves is named instead, and nothing is touched."""
    old = switch_host.serve(switch_host.release("old"))
    with pytest.raises(PreconditionError, match=r"--stop other.*found old"):
        clean(switch_host, "other")
    assert answers(old)


def test_an_id_that_is_not_offered_stops_nothing(switch_host: SwitchHost, pile: Pile) -> None:
    """A slip of the pen is found before the first stop."""
    old = switch_host.serve(switch_host.release("old"))
    with pytest.raises(PreconditionError, match="there is no such thing"):
        clean(switch_host, "old", named=("weights:misspelt",))
    assert answers(old)


def test_refused_while_a_switch_is_open(switch_host: SwitchHost, pile: Pile) -> None:
    """An open switch needs both: the plan is blocked, and the command ends 3."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    context = switch_host.context()
    follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)
    code, told = command(switch_host, "cleanup", "--stop", "old", "--yes")
    assert (code, "SWITCH_OPEN" in told["message"]) == (3, True)
    assert answers(new)
    rollback(switch_host.context())


def test_held_by_another_run(switch_host: SwitchHost, pile: Pile) -> None:
    """Nothing is stopped while somebody else may change this host."""
    old = switch_host.serve(switch_host.release("old"))
    with switch_host.held_by_another(), pytest.raises(HostHeld):
        clean(switch_host, "old")
    assert answers(old)


def test_what_serves_keeps_its_weights_until_they_are_named(switch_host: SwitchHost, pile: Pile) -> None:
    """A yes stops it and lets go what nothing needs; its own weights stay, and recover works."""
    old, weights = serve_from(switch_host, pile, "old")
    free = pile.weights("acme/free", "b" * 40)
    clean(switch_host, "old")
    assert weights.exists() and not free.exists()
    recover(switch_host.context())
    assert answers(old)


def test_given_up_for_good(switch_host: SwitchHost, pile: Pile) -> None:
    """The brief's first day: stop it, and by their id its weights go. No book names it any more, and what could be tried says so."""
    _, weights = serve_from(switch_host, pile, "old")
    done = clean(switch_host, "old", named=(f"weights:acme--old/{'a' * 40}",))
    assert done.reclaimed and done.reclaimed.failed == [] and not weights.exists() and done.again == ""
    book = read_book(switch_host.state)
    assert (book.current, book.stopped) == (None, [])
    assert recover(switch_host.context()) is None
    with pytest.raises(PreconditionError, match="no release before"):
        rollback(switch_host.context())
    code, told = command(switch_host, "status")
    assert (code, told["current"], told["answers"]) == (0, None, None)


def test_weights_that_went_otherwise_are_missed_in_words(switch_host: SwitchHost, pile: Pile) -> None:
    """Started again without its weights: refused before anything, with what brings them back."""
    _, weights = serve_from(switch_host, pile, "old")
    clean(switch_host, "old")
    weights.rename(weights.with_name("elsewhere"))
    with pytest.raises(PreconditionError, match="no longer whole"):
        start_again(switch_host.context())


def test_killed_between_the_word_and_the_stop(switch_host: SwitchHost, pile: Pile) -> None:
    """It is written down and still runs: cleanup stops it, or recover takes the word back."""
    old = switch_host.serve(switch_host.release("old"))
    record_stopped(switch_host.state, Stopped(name="old", at=1.0))
    assert recover(switch_host.context()) is None
    assert answers(old) and read_book(switch_host.state).stopped == []
    record_stopped(switch_host.state, Stopped(name="old", at=1.0))
    assert clean(switch_host, "old").stopped == ["old"] and not answers(old)


def test_a_rollback_of_what_had_not_stopped_yet(switch_host: SwitchHost, pile: Pile) -> None:
    """The word is taken back without a switch: exit 0, it serves, and the run is remembered as what was asked for."""
    old = switch_host.serve(switch_host.release("old"))
    record_stopped(switch_host.state, Stopped(name="old", at=1.0))
    code, told = command(switch_host, "rollback")
    assert (code, told["outcome"], told["message"]) == (0, "started", "old serves again")
    assert answers(old) and read_book(switch_host.state).stopped == []
    run = report(switch_host.state, list_runs(switch_host.state)[0].id)
    assert (run.outcome, run.exit_code, run.released) == ("rolled_back", 0, "old")


def test_its_port_held_by_a_stranger_is_no_clean_slate(switch_host: SwitchHost, pile: Pile) -> None:
    """What is left is named, and the run ends as a check that said no."""
    done = Cleaned(obstacles=["port 8000 is held by process 7 (nginx): end it, or serve on another port"])
    with pytest.raises(GateFailed, match="no clean slate"):
        require_clean(done)


def test_a_cleanup_by_hand_is_a_run_like_any_other(switch_host: SwitchHost, pile: Pile) -> None:
    """Exit 0 and one object; the run is remembered as cleaned, with nothing that answers."""
    switch_host.serve(switch_host.release("old"))
    code, told = command(switch_host, "cleanup", "--stop", "old", "--yes")
    assert (code, told["stopped"]) == (0, ["old"])
    run = report(switch_host.state, told["run_id"])
    assert (run.outcome, run.exit_code, run.released) == ("cleaned", 0, None)


def test_a_dry_run_changes_nothing(switch_host: SwitchHost, pile: Pile) -> None:
    """The plan as one object; what serves goes on."""
    old = switch_host.serve(switch_host.release("old"))
    code, told = command(switch_host, "cleanup", "--stop", "old", "--dry-run")
    assert (code, [each["name"] for each in told["serving"] if each["is_to_stop"]]) == (0, ["old"])
    assert answers(old)


def test_an_unconfigured_host_is_clean(tmp_path: Path) -> None:
    """No roots, no state, nothing serves: an answer and no error."""
    from modelpivot.stages.context import open_context

    host = HostConfig(
        state_dir=tmp_path / "state", weights_root=tmp_path / "none", environments_root=tmp_path / "none", hub_cache=tmp_path / "none"
    )
    context = open_context(host, name="test")
    made = plan(context)
    assert (made.serving, made.reclaim.items, made.blockers) == ([], [], [])
    assert cleanup(context, made, Agreed()).obstacles == []
