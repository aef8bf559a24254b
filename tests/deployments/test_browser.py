"""What somebody does who has never seen the project: fill in the form, be refused, start, answer, decide, read the report."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page
from prefect.client.orchestration import get_client

from modelpivot.benchmark.pictures import say_time
from modelpivot.files import read_model
from modelpivot.models.result import RunResult
from modelpivot.state.runs import list_runs
from tests.browser import choose, field, flip, page, press, take_picture
from tests.deployed import UNTESTED, newest_run, start, wait_for_state
from tests.reclaiming import Pile
from tests.world import World

__all__ = ["page"]


@pytest.mark.usefixtures("worker")
def test_a_pivot_from_the_form_to_the_report(old_serves: World, page: Page, tmp_path: Path) -> None:
    """Refused with the field named; then asked about the engine, asked about the new model, promoted, and told in a report."""
    open_form(page)
    choose(page, "recipe", UNTESTED)
    take_picture(page, "form", tmp_path)
    field(page, "Minutes to confirm").locator("input").fill("0")
    press(page, "Submit")
    page.get_by_text("overrides.confirm_minutes").first.wait_for()
    field(page, "Minutes to confirm").locator("input").fill("10")
    flip(page, "dry_run")
    choose(page, "promotion", "person")
    press(page, "Submit")
    page.goto(f"{ui()}/runs/flow-run/{newest_run('pivot/pivot').id}")

    say_yes(page, "which was not tested here", tmp_path / "question")
    say_yes(page, "unconfirmed. Try it, then decide", tmp_path / "promotion")
    page.get_by_text("Completed", exact=True).first.wait_for()
    assert old_serves.serving == UNTESTED
    page.get_by_text("Artifacts", exact=True).click()
    page.get_by_text("report", exact=True).first.click()
    page.get_by_role("heading", name="promoted").wait_for()
    take_picture(page, "report", tmp_path)
    read_drawn_report(page, old_serves)


@pytest.mark.usefixtures("worker")
def test_a_deletion_is_shown_and_agreed_to(old_serves: World, page: Page, tmp_path: Path) -> None:
    """The form says what goes, how much it frees and what is lost; until the yes all of it is there, afterwards it is gone."""
    weights = Pile(old_serves.root).weights("acme/retired")
    run = start("reclaim/reclaim", dry_run=False, only=["weights"])
    page.goto(f"{ui()}/runs/flow-run/{run.id}")
    say_yes(page, "There is no way back", tmp_path / "deletion", is_there=weights)
    assert wait_for_state(run).name == "Reclaimed" and not weights.exists() and old_serves.serving == "old"


def read_drawn_report(page: Page, world: World) -> None:
    """The page that the run left on the host tells the downtime that was counted."""
    drawn = next(run.pictures for run in list_runs(world.state) if run.pictures.exists())
    result = read_model(drawn.with_name("result.json"), RunResult)
    page.goto(drawn.as_uri())
    assert result and result.downtime_s and page.locator("dd").all_inner_texts()[3] == say_time(result.downtime_s)


def ui() -> str:
    """Where the pages are."""
    return os.environ["PREFECT_API_URL"].removesuffix("/api")


def open_form(page: Page) -> None:
    """The form of the deployment pivot."""
    deployment = get_client(sync_client=True).read_deployment_by_name("pivot/pivot")
    page.goto(f"{ui()}/deployments/deployment/{deployment.id}/run")
    field(page, "recipe").wait_for()


def say_yes(page: Page, words: str, picture: Path, *, is_there: Path | None = None) -> None:
    """Wait until the run asks, read the words, answer yes; what it is about is there until then."""
    press(page, "Resume")
    page.get_by_text(words).first.wait_for()
    flip(page, "Yes, do it")
    take_picture(page, picture.name, picture.parent)
    assert is_there is None or is_there.exists()
    press(page, "Submit")
    page.get_by_text("Flow run resumed").last.wait_for()
