"""A real browser at a real Prefect server: Debian's Chromium, driven by Playwright; what a person does with forms, as few verbs as they need."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PICTURES = "MODELPIVOT_PICTURES"
"""Names the folder that pictures are kept in (`make pictures`: docs/images); unset, they go with the test."""
WAIT_MS = 90_000.0


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """A page of a browser with an empty profile."""
    with sync_playwright() as driver:
        profile = tmp_path / "profile"
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=FLAGS, headless=True, viewport={"width": 1280, "height": 900}
        )
        context.set_default_timeout(WAIT_MS)
        yield context.pages[0]
        context.close()


def field(page: Page, label: str) -> Locator:
    """One field of a form, by its label."""
    return page.locator(".schema-form-property", has=page.locator(".schema-form-property__label", has_text=label)).last


def choose(page: Page, label: str, value: str) -> None:
    """Choose from a drop-down, by keyboard as far as it opens."""
    field(page, label).locator("button.p-select-button__control").focus()
    page.keyboard.press("ArrowDown")
    page.locator(".p-pop-over-content").get_by_text(value, exact=True).click()


def flip(page: Page, label: str) -> None:
    """Flip a switch."""
    field(page, label).get_by_role("switch").click()


def press(page: Page, name: str) -> None:
    """Press the button that was drawn last of those of this name: a dialogue lies over its page."""
    page.get_by_role("button", name=name, exact=True).last.click()


def take_picture(page: Page, name: str, folder: Path) -> None:
    """Keep what the page shows as `name`.png."""
    kept = Path(os.environ.get(PICTURES) or folder)
    page.screenshot(path=kept / f"{name}.png", animations="disabled")
