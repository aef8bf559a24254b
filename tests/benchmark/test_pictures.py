"""Pictures that need nothing but the page: well formed, to scale, and harmless whatever the names are."""

import re
from xml.etree import ElementTree

import pytest

from modelpivot.benchmark import svg
from modelpivot.benchmark.pictures import Group, LoadCurve, LoadPoint, Page, Span, Trend, draw_load, draw_timeline, draw_trend, render_page

EVIL = '<script>alert("&")</script>'
CURVE = LoadCurve("0.26.0 aaaaaaa", [LoadPoint(1, 440, 2.2), LoadPoint(4, 1600, 2.4), LoadPoint(16, 6200, 2.5)])
TREND = Trend(
    "single: output tokens per second", "tokens/s", [Group("0.26.0", (60.0, 61.0), 60.5, 0.02), Group("0.27.0", (54.0,), 54.0, None, False)]
)
SPANS = [Span("install", 0, 40, "done"), Span("download", 0, 90, "done"), Span("serve", 95, 95.01, "failed")]


def parsed(picture: str) -> ElementTree.Element:
    """The picture as XML; what is not well formed raises."""
    return ElementTree.fromstring(picture)


def found(picture: str, kind: str) -> list[ElementTree.Element]:
    """Elements of a class."""
    return [element for element in parsed(picture).iter() if kind in element.get("class", "").split()]


def test_more_throughput_is_higher_and_more_latency_is_further_right() -> None:
    """The points of a sweep in the order of their concurrency, each with its figures."""
    points = found(draw_load([CURVE]).partition("<ul")[0], "point")
    across, up = ([float(point.get(name, "nan")) for point in points] for name in ("cx", "cy"))
    assert across == sorted(across)
    assert up == sorted(up, reverse=True)
    assert "16 at once: 6200.0 tokens/s" in "".join(points[2].itertext())


def test_lengths_are_to_scale() -> None:
    """A bar of 90 s is as long as 90 of its axis; one of an instant is still seen."""
    install, download, serve = (float(bar.get("width", "nan")) for bar in found(draw_timeline(SPANS), "bar"))
    assert download / install == pytest.approx(90 / 40, rel=1e-2)
    assert serve == 1.5


def test_the_band_is_as_high_as_the_noise() -> None:
    """Two per cent up and down around the median; what is not known has no band, what was refused another colour."""
    (band,) = found(draw_trend(TREND), "band")
    points = [float(point.get("cy", "nan")) for point in found(draw_trend(TREND), "point")]
    per_token = (points[0] - points[1]) / (61.0 - 60.0)
    assert float(band.get("height", "nan")) == pytest.approx(2 * 0.02 * 60.5 * per_token, rel=0.05)
    assert len(found(draw_trend(TREND), "bad")) == 2


@pytest.mark.parametrize("values", [(0.0,), (5.0,), (5.0, 5.0), (1e-9, 2e-9), (0.0, 1e12), (-3.0, 4.0)])
def test_any_values_have_a_scale(values: tuple[float, ...]) -> None:
    """One value, equal ones, tiny and huge ones: a few ticks inside, every value on the paper."""
    scale = svg.scale_over(values, 0, 100)
    assert all(0 <= scale(value) <= 100 for value in values)
    assert 2 <= len(svg.ticks(scale)) <= 12


def test_ticks_are_round() -> None:
    """Numbers that a person reads."""
    assert svg.ticks(svg.Scale(0, 97, 0, 100)) == [0, 20, 40, 60, 80]


def test_the_page_needs_nothing_else_and_runs_nothing() -> None:
    """No address, no script, no import; names that look like markup are text."""
    page = Page(
        title=EVIL,
        lead=EVIL,
        facts=[(EVIL, EVIL)],
        spans=[Span(EVIL, 0, 1, "done")],
        curves=[LoadCurve(EVIL, CURVE.points), CURVE],
        trends=[Trend(EVIL, EVIL, [Group(EVIL, (1.0,), 1.0, 0.1)])],
        tables=[(EVIL, (EVIL,), [[EVIL]])],
    )
    html = render_page(page)
    assert "<script" not in html
    assert re.findall(r"https?:|//|@import|url\(|\bsrc=|\bhref=", html) == []
    pictures = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(pictures) == 3
    for picture in pictures:
        parsed(picture)


def test_what_is_empty_is_left_out() -> None:
    """A run that measured nothing has no empty frames."""
    assert "<svg" not in render_page(Page(title="a", lead="b"))
