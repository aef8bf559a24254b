"""status, promote, rollback, watch by hand, in processes of their own, on a host with stand-in engines."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from modelpivot.settings import to_environment
from modelpivot.stages.report import report
from modelpivot.stages.switch import follow_switch, is_unconfirmed, start_switch
from modelpivot.state.runs import list_runs
from tests.switching import DEADLINES, SwitchHost, answers

PATIENT = DEADLINES.model_copy(update={"ready_s": 200.0, "ready_max_s": 400.0, "confirm_s": 600.0})
"""Of a switch that stands where it is while commands look at it, however long their starts take."""


def command(host: SwitchHost, *words: str) -> tuple[int, Any]:
    """Exit code, and the one object on standard output."""
    argv = [sys.executable, "-m", "modelpivot", *words, "--json"]
    environment = {**os.environ, **to_environment(host.config)}
    ended = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert len(ended.stdout.splitlines()) == 1, ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def open_switch(host: SwitchHost) -> None:
    """`new` serves unconfirmed, `old` served before."""
    old, new = host.serve(host.release("old")), host.release("new", deadlines=PATIENT)
    context = host.context()
    follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)


def test_status_names_what_serves_unconfirmed(switch_host: SwitchHost) -> None:
    """While a switch waits for a decision the new release answers, and that is what status asks and says."""
    open_switch(switch_host)
    code, told = command(switch_host, "status")
    assert (code, told["serves"], told["answers"], told["current"]) == (0, "new", True, "old")
    assert (told["switch"], told["switch_to"], told["stays_unconfirmed"]) == ("unconfirmed", "new", False)


def test_status_says_that_the_first_model_is_kept_in_silence(switch_host: SwitchHost) -> None:
    """Nothing served before: the switch keeps it at its deadline, and does not go back."""
    context = switch_host.context()
    follow_switch(context, start_switch(context, to=switch_host.release("new", deadlines=PATIENT), frm=None), until=is_unconfirmed)
    environment = {**os.environ, **to_environment(switch_host.config), "COLUMNS": "200"}
    told = subprocess.run([sys.executable, "-m", "modelpivot", "status"], env=environment, capture_output=True, text=True, check=True)
    assert "is kept without a word in" in told.stdout and "goes back" not in told.stdout


def test_status_of_a_host_where_nothing_answers(switch_host: SwitchHost) -> None:
    """The current release is down: exit 5, with the rung that does not hold."""
    switch_host.make_current(switch_host.release("old"))
    code, told = command(switch_host, "status")
    assert (code, told["answers"]) == (5, False)
    assert told["why_not"]


@pytest.mark.parametrize(("is_engine_dead", "code"), [(True, 5), (False, 0)])
def test_status_of_a_dead_switch(switch_host: SwitchHost, is_engine_dead: bool, code: int) -> None:
    """Its process and its run are gone: that is said, with what finishes it; nothing answers is exit 5, and what it left up is found."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    runner = switch_host.start_runner(old, new, "asked")
    cutover = switch_host.wait_for_phase("unconfirmed")
    runner.kill()
    runner.wait()
    switch_host.kill_switch(cutover)
    if is_engine_dead:
        switch_host.supervisor.stop(new, timeout_s=1)
    ended, told = command(switch_host, "status")
    assert (ended, told["answers"], told["switch"]) == (code, not is_engine_dead, "unconfirmed"), told
    assert told["switch_dead"] == "its process is dead: `modelpivot recover`"
    shown = subprocess.run(
        [sys.executable, "-m", "modelpivot", "status"],
        env={**os.environ, **to_environment(switch_host.config), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "recover" in shown.stdout and "goes back by itself" not in shown.stdout, shown.stdout


def test_status_while_a_living_switch_works(switch_host: SwitchHost) -> None:
    """Nothing answers between two models, and that is what a switch is: exit 0."""
    old = switch_host.serve(switch_host.release("old"))
    new = switch_host.release("new", args=("--load-s", "400"), deadlines=PATIENT)
    runner = switch_host.start_runner(old, new, "asked")
    switch_host.wait_for_phase("starting")
    code, told = command(switch_host, "status")
    runner.kill()
    runner.wait()
    assert (code, told["answers"], told["switch_dead"]) == (0, False, None), told


def test_a_promotion_by_hand_is_a_run_like_any_other(switch_host: SwitchHost) -> None:
    """Exit 0; its run is remembered as promoted, not as one that broke off."""
    open_switch(switch_host)
    code, told = command(switch_host, "promote")
    assert (code, told["outcome"]) == (0, "promoted")
    run = report(switch_host.state, list_runs(switch_host.state)[0].id)
    assert ("promote" in run.run_id, run.outcome, run.exit_code) == (True, "promoted", 0)


def test_going_back_by_hand_is_a_run_like_any_other(switch_host: SwitchHost) -> None:
    """An open switch is asked to return: exit 4, the old release answers, and the run is remembered as what was asked for."""
    open_switch(switch_host)
    code, told = command(switch_host, "rollback")
    assert (code, told.get("outcome")) == (4, "returned"), told
    run = report(switch_host.state, next(run.id for run in list_runs(switch_host.state) if "rollback" in run.id))
    assert (run.outcome, run.exit_code, run.released) == ("rolled_back", 4, "old")


def test_a_rollback_that_itself_went_back_is_not_called_one(switch_host: SwitchHost) -> None:
    """The release before does not come up any more: exit 4, what served serves on, and its run is no rollback but one that returned."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    assert switch_host.switch(old, new).outcome == "promoted"
    switch_host.release("old", fault="die_at_start")
    code, told = command(switch_host, "rollback")
    assert (code, told["outcome"], answers(new)) == (4, "returned", True), told
    run = report(switch_host.state, next(run.id for run in list_runs(switch_host.state) if "rollback" in run.id))
    assert (run.outcome, run.exit_code, run.released) == ("returned", 4, "new")


def test_a_rollback_that_cannot_begin_touches_nothing(switch_host: SwitchHost) -> None:
    """The release before lost its engine: exit 3 with the reason, and the current one serves on."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    assert switch_host.switch(old, new).outcome == "promoted"
    start = old.start.model_copy(update={"argv": ["/no/such/engine"]})
    switch_host.write(old.model_copy(update={"start": start}))
    code, told = command(switch_host, "rollback")
    assert (code, told["exit_code"]) == (3, 3)
    assert "/no/such/engine" in told["message"]
    assert answers(new)


def test_a_recovery_by_hand_says_what_it_did(switch_host: SwitchHost) -> None:
    """Nothing open: exit 0, and that is said. A switch whose process died: exit 4, the old release answers, and its run is remembered like any other."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    code, told = command(switch_host, "recover")
    assert (code, told["outcome"], told["message"]) == (0, "nothing_open", "nothing is left open, and old runs")
    run = report(switch_host.state, list_runs(switch_host.state)[0].id)
    assert (run.outcome, run.exit_code, run.released) == ("no_change", 0, "old")
    runner = switch_host.start_runner(old, new, "asked")
    cutover = switch_host.wait_for_phase("unconfirmed")
    runner.kill()
    runner.wait()
    switch_host.kill_switch(cutover)
    code, told = command(switch_host, "recover")
    assert (code, told["outcome"], told["cutover"]["to_release"]) == (4, "returned", "new"), told
    assert answers(old)
    run = report(switch_host.state, next(run.id for run in list_runs(switch_host.state) if "recover" in run.id))
    assert (run.outcome, run.exit_code, run.released) == ("returned", 4, "old")


def test_a_release_that_is_down_is_started_by_a_recovery(switch_host: SwitchHost) -> None:
    """The current release died with nothing open: exit 0, and it answers."""
    old = switch_host.serve(switch_host.release("old"))
    switch_host.supervisor.stop(old, timeout_s=1)
    code, told = command(switch_host, "recover")
    assert (code, told["outcome"]) == (0, "promoted"), told
    assert answers(old)
