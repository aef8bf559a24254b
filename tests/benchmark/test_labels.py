"""Words beside points: none over another, none that seems to name another point, long names in lines that fit."""

import math
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from modelpivot.benchmark.labels import CHAR, Box, place_labels, wrap

PAPER = Box(0, 0, 600, 300)
SPOTS = st.tuples(st.integers(40, 560), st.integers(40, 260)).map(lambda spot: (float(spot[0]), float(spot[1])))


@given(st.lists(SPOTS, min_size=1, max_size=5, unique=True))
def test_a_few_labels_never_touch_and_stay_on_the_paper(spots: list[tuple[float, float]]) -> None:
    """Wherever the points are, on one spot nearly as well."""
    labels = place_labels([(str(4**number), spot) for number, spot in enumerate(spots)], [spots], PAPER)
    assert [label.words for label in labels] == [str(4**number) for number in range(len(spots))]
    assert not any(one.box.meets(other.box) for one, other in combinations(labels, 2))
    assert all(each.box.left >= 0 and each.box.right <= 600 and each.box.top >= 0 and each.box.bottom <= 300 for each in labels)


def test_a_lone_label_stands_above_its_point() -> None:
    """Centred, where nothing is in the way."""
    [label] = place_labels([("16", (300.0, 150.0))], [], PAPER)
    assert (label.x, label.anchor) == (300.0, "middle") and label.y < 150


def test_a_label_is_nearest_to_its_own_point() -> None:
    """Two points beside each other: no number stands where it would be read as the other's."""
    spots = [(300.0, 150.0), (311.0, 141.0), (333.0, 151.0)]
    labels = place_labels([(word, spot) for word, spot in zip("124", spots, strict=True)], [spots], PAPER)
    for label, spot in zip(labels, spots, strict=True):
        middle = ((label.box.left + label.box.right) / 2, (label.box.top + label.box.bottom) / 2)
        assert min(spots, key=lambda each: math.dist(middle, each)) == spot


def test_lines_fit_and_say_everything() -> None:
    """Words move to the next line; one that is longer than a line is cut."""
    assert wrap("0.26.0 slowed 0000000, refused", 100) == ["0.26.0 slowed", "0000000,", "refused"]
    assert wrap("0.33.0.dev20261130+g1abcdef", 70) == ["0.33.0.dev", "20261130+g", "1abcdef"]
    assert all(len(line) * CHAR <= 66 for line in wrap("a name of many words and anotherwordthatislong", 66))
