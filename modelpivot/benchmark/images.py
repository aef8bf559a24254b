"""The pictures of a report as images that need no page: SVG with its style inside, as an address that holds all of it. Pure.

For what shows markdown on another machine (Prefect's pages), where a file of this host cannot be opened.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from modelpivot.benchmark import svg
from modelpivot.benchmark.pictures import LOAD_WORDS, STYLE, TREND_WORDS, LoadCurve, Page, draw_timeline, draw_trend, plot_load

ALONE = f"svg {{ width: {svg.WIDTH}px; background: var(--ground); }}"
COLOURS = ("blue", "orange", "green", "violet", "brown", "pink")
"""s0 to s5 of the style sheet, in a word."""


@dataclass(frozen=True)
class Image:
    """One picture: its title, its `data:` address, and how to read it."""

    title: str
    address: str
    words: str = ""


def draw_images(page: Page) -> list[Image]:
    """Time line, curves and trends of a report, those that it has."""
    images = [_image("The run on a time line", draw_timeline(page.spans))] if page.spans else []
    images += [_image("Throughput against latency", plot_load(page.curves), f"{LOAD_WORDS} {_legend(page.curves)}")] if page.curves else []
    return [*images, *(_image(trend.title, draw_trend(trend), TREND_WORDS) for trend in page.trends)]


def _image(title: str, picture: str, words: str = "") -> Image:
    content = base64.b64encode(svg.alone(picture, STYLE.read_text() + ALONE).encode()).decode()
    return Image(title, f"data:image/svg+xml;base64,{content}", words)


def _legend(curves: Sequence[LoadCurve]) -> str:
    return "; ".join(f"{COLOURS[number % svg.SERIES]}: {curve.name}" for number, curve in enumerate(curves))
