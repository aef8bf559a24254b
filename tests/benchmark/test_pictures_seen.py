"""The pictures as a browser draws them: every word can be read, whatever was measured."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page as Browser

from modelpivot.benchmark.pictures import Group, LoadCurve, LoadPoint, Page, Span, Trend, render_page
from modelpivot.benchmark.setup import digest_setup
from modelpivot.stages.pictures import draw_history
from tests.browser import page, take_picture
from tests.plans.drawing import recorded

__all__ = ["page"]
pytestmark = pytest.mark.slow

COVERED = """() => [...document.querySelectorAll('svg')].flatMap(picture => {
    const words = [...picture.querySelectorAll('text')].map(each => [each.textContent, each.getBoundingClientRect()]).filter(each => each[0]);
    const frame = picture.getBoundingClientRect();
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
    const isOff = a => a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1;
    return words.flatMap(([word, place], number) => [
        ...words.slice(number + 1).filter(other => meet(place, other[1])).map(other => `${word} on ${other[0]}`),
        ...(isOff(place) ? [`${word} off the picture`] : []),
    ]);
})"""
"""Words that lie on others, or leave their picture. The boxes of letters are higher than what is seen of them."""


def covered(browser: Browser, drawn: Path) -> Any:
    """What cannot be read of a page."""
    browser.set_viewport_size({"width": 900, "height": 980})
    browser.goto(drawn.as_uri())
    return browser.evaluate(COVERED)


def test_the_measured_history_can_be_read(page: Browser, tmp_path: Path) -> None:
    """Ten starts on an H200: the sweep's points lie close together, their numbers do not touch. It is the picture of the docs, where the engine
    that rests after every step stands as the version that the gate refused."""
    plain, rests = recorded()
    named = rests[0].setup.model_copy(update={"engine_version": "0.26.0 slowed"})
    slowed = [one.model_copy(update={"setup": named, "setup_digest": digest_setup(named), "standing": "refused"}) for one in rests]
    draw_history(sorted([*plain, *slowed], key=lambda one: one.measurement.at, reverse=True), tmp_path / "history.html")
    assert covered(page, tmp_path / "history.html") == []
    take_picture(page, "benchmark-history", tmp_path)


def test_many_versions_and_crowded_points_can_be_read(page: Browser, tmp_path: Path) -> None:
    """Ten versions with long names beside each other, twelve points on a spot, and a night on the time line."""
    names = [f"0.{number}.0.dev20261130+g{number}abcdef 0000000, refused" for number in range(30, 40)]
    groups = [Group(name, (50.0 + number, 51.0 + number), 50.5 + number, 0.02) for number, name in enumerate(names)]
    curves = [
        LoadCurve(f"v{version}", [LoadPoint(2**power, 500 + 20 * power, 3.5 + 0.02 * power + 0.01 * version) for power in range(4)])
        for version in range(3)
    ]
    spans = [Span(name, begin, begin + 3000, "done") for begin, name in enumerate(("a stage", "another", "check engine"))]
    drawn = tmp_path / "crowded.html"
    drawn.write_text(render_page(Page(title="crowded", lead="", spans=spans, curves=curves, trends=[Trend("many", "tokens/s", groups)])))
    assert covered(page, drawn) == []
