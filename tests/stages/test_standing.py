"""What was measured of a new model is a baseline when the model was promoted, and only then."""

from collections.abc import Callable

import pytest

from modelpivot.benchmark.keep import keep, look_back
from modelpivot.models.benchmark import Check, Standing
from modelpivot.models.cutover import Cutover
from modelpivot.stages.context import Context
from modelpivot.stages.passed import note_passed
from modelpivot.stages.promote import promote
from modelpivot.stages.rollback import rollback
from modelpivot.stages.standing import settle_standing
from modelpivot.stages.switch import follow_switch, is_unconfirmed, start_switch
from tests.benchmark.results import result
from tests.switching import SwitchHost


def open_switch(host: SwitchHost) -> tuple[Context, Cutover]:
    """`new` serves unconfirmed; the run that began the switch."""
    old, new = host.serve(host.release("old")), host.release("new")
    context = host.context()
    return context, follow_switch(context, start_switch(context, to=new, frm=old), until=is_unconfirmed)


def measured(context: Context, run_id: str, *, release: str = "new", standing: Standing = "measured") -> None:
    """One result of a run, as the benchmark stage or a gate leaves it."""
    keep(context.state, [result(60.0, run_id=run_id, release=release, standing=standing)])


def standings(context: Context) -> dict[tuple[str, str], str]:
    """Of every result, by run and release."""
    return {(one.run_id, one.release): one.standing for one in look_back(context.state)[0]}


@pytest.mark.parametrize(("decide", "standing"), [(promote, "accepted"), (rollback, "refused")])
def test_the_end_of_the_switch_decides_and_not_the_gate(
    switch_host: SwitchHost, decide: Callable[[Context], Cutover], standing: str
) -> None:
    """By another run than the one that measured: a person's word comes when that is gone. What else was measured keeps its standing."""
    context, cutover = open_switch(switch_host)
    measured(context, context.run.id)
    measured(context, "follower")
    measured(context, "another", standing="measured")
    measured(context, "before", release="old", standing="accepted")
    note_passed(switch_host.context("follower"), cutover, [], [Check(name="floor", passed=True)])
    assert set(standings(context).values()) == {"measured", "accepted"}
    decide(switch_host.context())
    assert standings(context) == {
        (context.run.id, "new"): standing,
        ("follower", "new"): standing,
        ("another", "new"): "measured",
        ("before", "old"): "accepted",
    }


def test_what_the_gate_refused_is_no_baseline_though_somebody_promotes_it(switch_host: SwitchHost) -> None:
    """A model that is kept against the gate's word serves; its figures stay refused."""
    context, _ = open_switch(switch_host)
    measured(context, context.run.id, standing="refused")
    promote(switch_host.context())
    assert standings(context) == {(context.run.id, "new"): "refused"}


def test_a_switch_that_never_began_or_only_tries_gives_no_standing(switch_host: SwitchHost) -> None:
    """What an upgrade test measured is judged by the upgrade test."""
    context = switch_host.context()
    measured(context, context.run.id)
    values = {
        "id": "c",
        "run_id": context.run.id,
        "from_release": "old",
        "to_release": "new",
        "deadlines": {},
        "lock_token": "t",
        "created_at": 0,
    }
    trial = {"turn_at": 1.0, "back_by": 2.0}
    for changes in ({"outcome": None}, {"outcome": "not_started"}, {"outcome": "returned", "trial": trial}):
        settle_standing(context, Cutover.model_validate({**values, **changes}))
    assert standings(context) == {(context.run.id, "new"): "measured"}
