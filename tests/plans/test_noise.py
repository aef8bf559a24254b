"""The band of noise: learned from starts alike in everything, wide when little is known, and right about chance."""

import math
import random

import pytest

from modelpivot.plans.noise import Noise, band, learn_noise, student_chance, student_quantile

TABLE = {(0.975, 1): 12.7062, (0.975, 2): 4.30265, (0.975, 5): 2.57058, (0.975, 30): 2.04227, (0.995, 4): 4.60409, (0.9, 3): 1.63774}
"""Student's t as printed in tables."""


@pytest.mark.parametrize(("chance", "freedom"), TABLE)
def test_students_t_is_that_of_the_tables(chance: float, freedom: int) -> None:
    """Odd and even degrees of freedom, to the last printed digit."""
    assert student_quantile(chance, freedom) == pytest.approx(TABLE[chance, freedom], rel=1e-5)
    assert student_chance(TABLE[chance, freedom], freedom) == pytest.approx(chance, abs=1e-5)


def test_groups_are_pooled_around_their_own_centres() -> None:
    """Two versions of different speed and equal noise: their difference is no noise."""
    noise = learn_noise([[100.0, 110.0], [50.0, 55.0]])
    assert noise is not None
    assert noise.freedom == 2
    assert noise.deviation == pytest.approx(math.log(1.1) / math.sqrt(2))


def test_one_start_each_teaches_nothing() -> None:
    """Nor does nothing at all."""
    assert learn_noise([[100.0], [50.0], []]) is None


def test_more_starts_narrow_the_band_and_more_questions_widen_it() -> None:
    """Of both sides; and asking of many metrics at once makes a false alarm of any of them no likelier."""
    noise = Noise(0.03, 8)
    assert band(noise, 5, 5) < band(noise, 5, 2) < band(noise, 5, 1) < band(noise, 5, 1, comparisons=6)


def test_the_band_is_left_by_chance_about_as_often_as_it_says() -> None:
    """Two sides of the same, three starts each, noise learned from those alone: 5 % of 4000 draws, give or take."""
    draw, left = random.Random(8), 0
    for _ in range(4000):
        one, two = ([math.exp(draw.gauss(0, 0.04)) for _ in range(3)] for _ in range(2))
        noise = learn_noise([one, two])
        assert noise is not None
        left += abs(math.log(sorted(one)[1] / sorted(two)[1])) > band(noise, 3, 3)
    assert 0.03 < left / 4000 < 0.08
