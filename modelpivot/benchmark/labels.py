"""Where words stand in a picture: beside their points, none over another, over a point or a line as far as there is room; long ones in several lines.

Pure. Nobody measures a font here: a character is taken for as wide as the wide ones are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

CHAR, LINE = 7.0, 14.0
"""Pixels of a character and of a line at the 12 px of the page's style sheet."""
RADIUS = 6.0
"""Of a point with its rim."""
Spot = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A rectangle, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether they have a pixel in common."""
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom

    def distance(self, spot: Spot) -> float:
        """From its middle."""
        return math.dist(((self.left + self.right) / 2, (self.top + self.bottom) / 2), spot)


@dataclass(frozen=True)
class Label:
    """Words at a place, as SVG wants them."""

    words: str
    x: float
    y: float
    anchor: str

    @property
    def box(self) -> Box:
        """What they cover."""
        width = CHAR * len(self.words)
        left = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return Box(left, self.y - LINE + 3, left + width, self.y + 3)


@dataclass(frozen=True)
class _Page:
    points: Sequence[Spot]
    inked: Sequence[Box]
    placed: list[Label]

    def cost(self, box: Box, spot: Spot) -> int:
        """Of a label for a point: another label under it is worst, then a nearer point, which it would seem to name, then any point, then a line."""
        labels = sum(box.meets(label.box) for label in self.placed)
        covered = sum(box.meets(_around(point, RADIUS)) for point in self.points)
        nearer = sum(box.distance(point) < box.distance(spot) for point in self.points)
        return 1_000_000 * labels + 10_000 * nearer + 1000 * covered + sum(box.meets(dot) for dot in self.inked)


def place_labels(words: Sequence[tuple[str, Spot]], lines: Sequence[Sequence[Spot]], paper: Box) -> list[Label]:
    """A label for each point, in their order: above it where that is free, else where it covers least, never off the paper."""
    page = _Page([spot for _, spot in words], [_around(spot, 1.0) for line in lines for spot in _along(line)], [])
    for text, spot in words:
        candidates = _candidates(text, spot)
        inside = [label for label in candidates if not _is_off(label.box, paper)] or candidates
        page.placed.append(min(inside, key=lambda label, spot=spot: page.cost(label.box, spot)))  # type: ignore[misc]
    return page.placed


def _candidates(text: str, spot: Spot) -> list[Label]:
    """Nearest first; the first of equal ones is taken."""
    x, y = spot
    around = [(0, -1, "middle"), (1, 0, "start"), (-1, 0, "end"), (0, 1, "middle")]
    around += [(1, -1, "start"), (-1, -1, "end"), (1, 1, "start"), (-1, 1, "end")]
    return [
        Label(text, x + across * (8 + away), y + 4 + down * (13 + away), anchor) for away in (0, 12, 26) for across, down, anchor in around
    ]


def _along(line: Sequence[Spot]) -> list[Spot]:
    """Spots on a line, a few pixels from one to the next."""
    spots = []
    for (x, y), (to_x, to_y) in pairwise(line):
        steps = max(1, int(max(abs(to_x - x), abs(to_y - y)) / 3))
        spots += [(x + (to_x - x) * step / steps, y + (to_y - y) * step / steps) for step in range(steps + 1)]
    return spots


def _around(spot: Spot, radius: float) -> Box:
    return Box(spot[0] - radius, spot[1] - radius, spot[0] + radius, spot[1] + radius)


def _is_off(box: Box, paper: Box) -> bool:
    return box.left < paper.left or box.right > paper.right or box.top < paper.top or box.bottom > paper.bottom


def wrap(words: str, width: float) -> list[str]:
    """The words in lines that fit a width; one that is longer than a line is cut."""
    most, lines = max(1, int(width / CHAR)), [""]
    for word in words.split():
        parts = [word[start : start + most] for start in range(0, len(word), most)]
        for part in parts:
            if not lines[-1]:
                lines[-1] = part
            elif len(lines[-1]) + 1 + len(part) <= most:
                lines[-1] += f" {part}"
            else:
                lines.append(part)
    return lines
