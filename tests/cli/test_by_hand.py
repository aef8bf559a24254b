"""status, promote, rollback, watch by hand, in processes of their own, on a host with stand-in engines."""

import json
import os
import subprocess
import sys
from typing import Any

from modelpivot.settings import to_environment
from modelpivot.stages.report import report
from modelpivot.stages.switch import follow_switch, is_unconfirmed, start_switch
from modelpivot.state.runs import list_runs
from tests.switching import SwitchHost, answers


def command(host: SwitchHost, *words: str) -> tuple[int, Any]:
    """Exit code, and the one object on standard output."""
    argv = [sys.executable, "-m", "modelpivot", *words, "--json"]
    environment = {**os.environ, **to_environment(host.config)}
    ended = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert len(ended.stdout.splitlines()) == 1, ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def open_switch(host: SwitchHost) -> None:
    """`new` serves unconfirmed, `old` served before."""
    old, new = host.serve(host.release("old")), host.release("new")
    context = host.context()
    follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)


def test_status_names_what_serves_unconfirmed(switch_host: SwitchHost) -> None:
    """While a switch waits for a decision the new release answers, and that is what status asks and says."""
    open_switch(switch_host)
    code, told = command(switch_host, "status")
    assert (code, told["serves"], told["answers"], told["current"]) == (0, "new", True, "old")
    assert (told["switch"], told["switch_to"]) == ("unconfirmed", "new")


def test_status_of_a_host_where_nothing_answers(switch_host: SwitchHost) -> None:
    """The current release is down: exit 5, with the rung that does not hold."""
    switch_host.make_current(switch_host.release("old"))
    code, told = command(switch_host, "status")
    assert (code, told["answers"]) == (5, False)
    assert told["why_not"]


def test_a_promotion_by_hand_is_a_run_like_any_other(switch_host: SwitchHost) -> None:
    """Exit 0; its run is remembered as promoted, not as one that broke off."""
    open_switch(switch_host)
    code, told = command(switch_host, "promote")
    assert (code, told["outcome"]) == (0, "promoted")
    run = report(switch_host.state, list_runs(switch_host.state)[0].id)
    assert ("promote" in run.run_id, run.outcome, run.exit_code) == (True, "promoted", 0)


def test_going_back_by_hand_is_a_run_like_any_other(switch_host: SwitchHost) -> None:
    """An open switch is asked to return: exit 4, the old release answers, and the run says so too."""
    open_switch(switch_host)
    code, told = command(switch_host, "rollback")
    assert (code, told.get("outcome")) == (4, "returned"), told
    run = report(switch_host.state, next(run.id for run in list_runs(switch_host.state) if "rollback" in run.id))
    assert (run.outcome, run.exit_code, run.released) == ("returned", 4, "old")


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
