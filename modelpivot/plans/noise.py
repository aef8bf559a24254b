"""How far a figure moves by itself, learned from starts of the engine that differ in nothing. Pure; everything is in logarithms, so that a
tenth more and a tenth less weigh alike.

One start is one value: the median of what was measured in it. Groups of starts of one set-up are pooled, each around its own centre.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

FALSE_ALARMS = 0.05
"""Chance that any of the metrics of one comparison leaves its band though nothing changed."""
MEDIAN_PRICE = math.pi / 2
"""Variance of a median over that of a mean, for many values; of one or two values the median is the mean."""


@dataclass(frozen=True)
class Noise:
    """Standard deviation of one start's logarithm, and of how many independent deviations it was made."""

    deviation: float
    freedom: int


def learn_noise(groups: Sequence[Sequence[float]]) -> Noise | None:
    """The noise of groups of figures, each group of one set-up and each figure of one start; None: no group has two starts."""
    squares, freedom = 0.0, 0
    for group in groups:
        logs = [math.log(value) for value in group]
        centre = sum(logs) / len(logs) if logs else 0.0
        squares += sum((log - centre) ** 2 for log in logs)
        freedom += max(0, len(logs) - 1)
    return Noise(math.sqrt(squares / freedom), freedom) if freedom else None


def band(noise: Noise, baseline_starts: int, candidate_starts: int, *, comparisons: int = 1) -> float:
    """The largest logarithm of a ratio of two medians that is still noise, when so many comparisons are made at once."""
    variance = _median_variance(baseline_starts) + _median_variance(candidate_starts)
    return student_quantile(1 - FALSE_ALARMS / (2 * comparisons), noise.freedom) * noise.deviation * math.sqrt(variance)


def _median_variance(starts: int) -> float:
    price = 1.0 if starts <= 2 else 1 + (MEDIAN_PRICE - 1) * (1 - 2 / starts)
    return price / starts


@cache
def student_quantile(chance: float, freedom: int) -> float:
    """Student's t: the value that is not passed with this chance (0.5 to 1)."""
    low, high = 0.0, 1.0
    while student_chance(high, freedom) < chance:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if student_chance(middle, freedom) < chance else (low, middle)
    return (low + high) / 2


def student_chance(value: float, freedom: int) -> float:
    """The chance that Student's t stays below `value` (not negative); by the finite series for whole degrees of freedom."""
    angle = math.atan2(value, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = freedom % 2 == 1
    term, total = (cosine if is_odd else 1.0), 0.0
    for step in range(2 if is_odd else 1, freedom, 2):
        total += term
        term *= cosine**2 * step / (step + 1)
    two_sided = 2 / math.pi * (angle + sine * total) if is_odd else sine * total
    return 0.5 + two_sided / 2
