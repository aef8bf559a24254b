"""A real browser at a real Prefect server: Debian's Chromium, driven by Playwright; what a person does with forms, as few verbs as they need."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Locator, Page, Response, sync_playwright

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
WAIT_MS = 180_000.0


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


class Pages(ABC):
    """Prefect's pages as a person uses them. There are two sets of them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.refused: list[str] = []
        """What the server refused to the page, which the page may show for a moment only."""
        page.on("response", self._note)

    def go(self, path: str) -> None:
        """Open a page of the server."""
        self.page.goto(f"{os.environ['PREFECT_API_URL'].removesuffix('/api')}{self.root}{path}")

    def open_form(self, deployment: UUID) -> None:
        """The form that starts a deployment."""
        self.go(f"/deployments/deployment/{deployment}/run")

    def open_run(self, flow_run: UUID) -> None:
        """A run's own page."""
        self.go(f"/runs/flow-run/{flow_run}")

    def tell(self) -> str:
        """What a person would see there, and what the page was refused."""
        return "\n".join([self.page.locator("body").inner_text(), *self.refused])

    def _note(self, response: Response) -> None:
        if response.status >= 400 and response.url.startswith(os.environ["PREFECT_API_URL"]):
            self.refused.append(f"{response.request.method} {response.url}: {response.status}")

    root: str
    submits: str
    """The button under a question's form."""

    @abstractmethod
    def choose(self, label: str, value: str) -> None:
        """Choose from a drop-down."""

    @abstractmethod
    def flip(self, label: str) -> None:
        """Flip a switch."""

    @abstractmethod
    def fill(self, label: str, text: str) -> None:
        """Write into a field."""

    @abstractmethod
    def resume(self) -> None:
        """Open the question of the run whose page it is, as soon as it has one."""


class NewPages(Pages):
    """Those that open first; their fields have names that a screen reader would say."""

    root, submits = "/v2", "Resume"

    def choose(self, label: str, value: str) -> None:
        self.page.get_by_role("button", name=f"Select {label}", exact=True).click()
        self.page.get_by_role("option", name=value, exact=True).click()

    def flip(self, label: str) -> None:
        self.page.get_by_role("switch", name=_of_field(label)).click()

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(_of_field(label)).fill(text)

    def read_refusal(self, label: str) -> str:
        """Why what is written there is not taken, as soon as the form points at it."""
        self.page.wait_for_function("document.activeElement.validationMessage")
        return str(
            self.page.get_by_label(_of_field(label)).evaluate("field => field === document.activeElement ? field.validationMessage : ''")
        )

    def resume(self) -> None:
        self.page.get_by_text("Suspended", exact=True).first.wait_for()
        self.page.get_by_role("button", name="Open menu", exact=True).last.click()
        self.page.get_by_role("menuitem", name="Resume", exact=True).click()


class OldPages(Pages):
    """Those of before, a click away."""

    root, submits = "", "Submit"

    def choose(self, label: str, value: str) -> None:
        self._field(label).locator("button.p-select-button__control").focus()
        self.page.keyboard.press("ArrowDown")
        self.page.locator(".p-pop-over-content").get_by_text(value, exact=True).click()

    def flip(self, label: str) -> None:
        self._field(label).get_by_role("switch").click()

    def fill(self, label: str, text: str) -> None:
        self._field(label).locator("input").fill(text)

    def resume(self) -> None:
        press(self.page, "Resume")

    def _field(self, label: str) -> Locator:
        return self.page.locator(".schema-form-property", has=self.page.locator(".schema-form-property__label", has_text=label)).last


def _of_field(label: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(label)}( \(Optional\))?$")


def press(page: Page, name: str) -> None:
    """Press the button that was drawn last of those of this name: a dialogue lies over its page."""
    page.get_by_role("button", name=name, exact=True).last.click()


def take_picture(page: Page, name: str, folder: Path) -> None:
    """Keep what the page shows as `name`.png."""
    kept = Path(os.environ.get(PICTURES) or folder)
    page.screenshot(path=kept / f"{name}.png", animations="disabled")
