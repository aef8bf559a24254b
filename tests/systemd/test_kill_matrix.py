"""The kill matrix: cut anywhere, and with no second run the host ends with exactly one proved release answering. The engine is a stand-in, and called one.

A seeded part runs always; the whole, every boundary and thirty random moments, is `long`. `-s` shows where each cut fell and how it ended.
"""

import collections
import random
from collections.abc import Iterator

import pytest

from tests.lab.sandbox import Sandbox, missing
from tests.systemd.cutting import Moment, Victims
from tests.systemd.matrix import Ended, Matrix
from tests.systemd.units import Units

SEED = 20261130
PART = 2
"""Boundaries of every kind of cut in the seeded part."""
RANDOM_MOMENTS = 30

long = pytest.mark.long


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    """One host for all of them."""
    if why := missing():
        pytest.skip(why)
    machine = Sandbox(tmp_path_factory.mktemp("matrix") / "one")
    try:
        machine.start()
        yield Matrix(Units(machine))
    finally:
        machine.forget()


def show(cut: str, ended: list[Ended]) -> None:
    """A line a case, and the sums: for `-s`, and for the failure's report."""
    for it in ended:
        print(f"{cut}: {it.moment!s:<45} fell at {it.cut or 'its end'!s:<35} {it.outcome:<9} {it.seconds:5.1f} s")
    outcomes = dict(collections.Counter(it.outcome for it in ended))
    print(f"{cut}: {len(ended)} cuts, {outcomes}, slowest end {max(it.seconds for it in ended):.1f} s")


def play_boundaries(cases: Matrix, cut: str, victims: Victims, *, part: int | None, is_reboot: bool = False) -> None:
    """Every boundary, or a seeded part of them."""
    assert len(cases.moments) >= 25, cases.moments
    chosen = cases.moments if part is None else random.Random(SEED + len(cut)).sample(cases.moments, part)
    show(cut, [cases.play(moment, decision, victims, is_reboot=is_reboot) for moment, decision in chosen])


def test_switch_killed_at_boundaries(cases: Matrix) -> None:
    """SIGKILL of the switch at a step's boundary: one proved release answers, alone; nothing is orphaned or deleted. Seeded part."""
    play_boundaries(cases, "switch", "switch", part=PART)


def test_everything_around_killed_at_boundaries(cases: Matrix) -> None:
    """SIGKILL of flow, worker, server and command together: the switch goes on alone and ends by itself. Seeded part."""
    play_boundaries(cases, "flow, worker, server, command", "tree", part=PART)


def test_power_cut_at_boundaries(cases: Matrix) -> None:
    """The machine goes off and on again at a step's boundary. Seeded part."""
    play_boundaries(cases, "power", "all", part=PART, is_reboot=True)


def test_killed_at_random_moments(cases: Matrix) -> None:
    """SIGKILL of the switch, or of everything, at any moment, while either engine may misbehave. Seeded part."""
    play_random(cases, PART)


@long
@pytest.mark.timeout(2400)
def test_switch_killed_at_every_boundary(cases: Matrix) -> None:
    """The whole: the switch."""
    play_boundaries(cases, "switch", "switch", part=None)


@long
@pytest.mark.timeout(2400)
def test_everything_around_killed_at_every_boundary(cases: Matrix) -> None:
    """The whole: flow, worker, server and command together."""
    play_boundaries(cases, "flow, worker, server, command", "tree", part=None)


@long
@pytest.mark.timeout(2400)
def test_everything_killed_at_every_boundary(cases: Matrix) -> None:
    """The whole: all of them and the switch at once."""
    play_boundaries(cases, "all at once", "all", part=None)


@long
@pytest.mark.timeout(2400)
def test_power_cut_at_every_boundary(cases: Matrix) -> None:
    """The whole: the machine."""
    play_boundaries(cases, "power", "all", part=None, is_reboot=True)


@long
@pytest.mark.timeout(2400)
def test_killed_at_thirty_random_moments(cases: Matrix) -> None:
    """The whole: thirty moments."""
    play_random(cases, RANDOM_MOMENTS)


def play_random(cases: Matrix, count: int) -> None:
    """Seeded: moment, victims, what the new engine does wrong, and what the run decides."""
    assert cases.moments
    dice, ended = random.Random(SEED), []
    for _ in range(count):
        moment = Moment("time", "", after_s=dice.random() * cases.whole_s)
        victims: Victims = dice.choice(["switch", "switch", "all"])
        fault = dice.choice(["none", "none", "child", "garbage", "die_at_start"])
        ended.append(cases.play(moment, dice.choice(["promote", "return"]), victims, fault=fault))
    show("random", ended)
