"""Charts as SVG text: scales with round ticks, axes, lines, points, bands and bars. Pure; nothing outside the page is needed to see them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 320
LEFT, RIGHT, TOP, BOTTOM = 72, 24, 18, 46
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Seconds from one mark of a clock to the next."""
SERIES = 6
"""Colours of the page's style sheet: s0 to s5."""


@dataclass(frozen=True)
class Scale:
    """A range of values on a range of pixels."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        return round(self.first + (value - self.low) / (self.high - self.low) * (self.last - self.first), 1)


def scale_over(values: Sequence[float], first: float, last: float, *, from_zero: bool = False) -> Scale:
    """A scale over values with a little room; from zero where lengths are compared, and never of no extent."""
    low, high = (0.0 if from_zero else min(values)), max(values)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    return Scale(0.0 if from_zero else low - room, high + room, first, last)


def ticks(scale: Scale, count: int = 5, steps: Sequence[float] = ()) -> list[float]:
    """Round values inside a scale, about so many; `steps`: those to choose from where one of them is wide enough and the first is not too wide."""
    raw = (scale.high - scale.low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    round_step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw)
    step = next((step for step in steps if step >= raw > steps[0]), round_step)
    number = math.ceil(scale.low / step)
    found = []
    while number * step <= scale.high:
        found.append(round(number * step, 10))
        number += 1
    return found


def say(value: float) -> str:
    """A value with as many digits as a person reads."""
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def text(x: float, y: float, words: str, *, anchor: str = "middle", kind: str = "") -> str:
    """Words at a place."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def line(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A line through points."""
    return f'<polyline class="line {kind}" points="{" ".join(f"{x:g},{y:g}" for x, y in points)}"/>'


def point(x: float, y: float, kind: str, tip: str) -> str:
    """A point that tells more when one rests on it."""
    return f'<circle class="point {kind}" cx="{x:g}" cy="{y:g}" r="4"><title>{escape(tip)}</title></circle>'


def box(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> str:
    """A band or bar; one of no width is still seen."""
    inner = f"<title>{escape(tip)}</title>" if tip else ""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{max(width, 1.5):g}" height="{max(height, 1):g}" rx="2">{inner}</rect>'


def axes(across: Scale, up: Scale, across_name: str, up_name: str, *, name_across: Callable[[float], str] = say) -> str:
    """Grid, ticks and names of both axes."""
    parts = [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(at):g}" y2="{up(at):g}"/>' for at in ticks(up)]
    parts += [text(LEFT - 8, up(at) + 4, say(at), anchor="end", kind="tick") for at in ticks(up)]
    parts += [text(across(at), HEIGHT - BOTTOM + 18, name_across(at), kind="tick") for at in ticks(across)]
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>')
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, across_name, kind="name"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text class="name" text-anchor="middle" transform="translate(16 {middle:g}) rotate(-90)">{escape(up_name)}</text>')
    return "".join(parts)


def drawing(parts: Sequence[str], title: str, *, height: float = HEIGHT) -> str:
    """The whole picture, with its title for those who cannot see it."""
    begin = f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(title)}">'
    return f"{begin}{''.join(parts)}</svg>"


def alone(picture: str, style: str) -> str:
    """A drawing as a file of its own, with its style inside."""
    sized = picture.replace("<svg viewBox", f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" viewBox', 1)
    begin, _, rest = sized.partition(">")
    return f"{begin}><style>{style}</style>{rest}"


def legend(names: Sequence[str]) -> str:
    """The colours with their names, as HTML below a picture; nothing where there is one series alone."""
    if len(names) < 2:
        return ""
    items = "".join(f'<li><span class="key s{number % SERIES}"></span>{escape(name)}</li>' for number, name in enumerate(names))
    return f'<ul class="legend">{items}</ul>'
