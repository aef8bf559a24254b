"""What somebody does who has never seen the project: fill in the form, be refused, start, answer, decide, read the report."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from playwright.sync_api import Error, Page
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun

from modelpivot.benchmark.pictures import say_time
from modelpivot.files import read_model
from modelpivot.models.result import RunResult
from modelpivot.models.size import say_bytes
from modelpivot.state.releases import read_book
from modelpivot.state.runs import list_runs
from modelpivot.waiting import WaitedTooLong
from tests.browser import NewPages, OldPages, Pages, page, press, take_picture
from tests.deployed import UNTESTED, find_open_run, start, wait_for_state
from tests.reclaiming import Pile
from tests.switching import wait_until
from tests.world import World

__all__ = ["page"]

ASKED = "Left off, the answer is no."
"""Stands in every question's form."""
TRIES = 3
"""Of what is sent: under load the server may refuse it, and the page says so."""

T = TypeVar("T")


@pytest.mark.usefixtures("worker")
def test_a_pivot_from_the_form_to_the_report(old_serves: World, page: Page, tmp_path: Path) -> None:
    """Refused with the field named; then asked about the engine, asked about the new model, promoted, and told in a report."""
    pages = NewPages(page)
    pages.open_form(read_deployment("pivot/pivot"))
    pages.choose("recipe", UNTESTED)
    take_picture(page, "form", tmp_path)
    pages.fill("Minutes to confirm", "0")
    press(page, "Submit")
    assert "greater than or equal to 1" in pages.read_refusal("Minutes to confirm")
    pages.fill("Minutes to confirm", "10")
    pages.flip("dry_run")
    pages.choose("promotion", "person")
    run = start_by_form(pages, "pivot/pivot")
    pages.open_run(run.id)

    say_yes(pages, "which was not tested here", tmp_path / "question")
    say_yes(pages, "unconfirmed. Try it, then decide", tmp_path / "promotion")
    assert wait_for_state(run).name == "Completed" and old_serves.serving == UNTESTED
    page.get_by_text("Completed", exact=True).first.wait_for()
    page.get_by_text("Artifacts", exact=True).click()
    page.get_by_text("report", exact=True).first.click()
    page.get_by_role("heading", name="promoted").wait_for()
    take_picture(page, "report", tmp_path)
    read_drawn_report(page, old_serves)


@pytest.mark.usefixtures("worker")
def test_the_older_pages_do_it_too(old_serves: World, page: Page) -> None:
    """There the server looks at the values, and says of which it is that it says no; a question is answered by a button."""
    pages = OldPages(page)
    pages.open_form(read_deployment("pivot/pivot"))
    pages.choose("recipe", UNTESTED)
    pages.fill("Minutes to confirm", "0")
    press(page, "Submit")
    page.get_by_text("overrides.confirm_minutes").first.wait_for()
    pages.fill("Minutes to confirm", "10")
    pages.flip("dry_run")
    run = start_by_form(pages, "pivot/pivot")
    pages.open_run(run.id)
    say_yes(pages, "which was not tested here")
    assert wait_for_state(run).name == "Completed" and old_serves.serving == UNTESTED


@pytest.mark.usefixtures("worker")
def test_a_deletion_is_shown_and_agreed_to(old_serves: World, page: Page, tmp_path: Path) -> None:
    """The form says what goes, how much it frees and what is lost; until the yes all of it is there, afterwards that is gone and nothing else."""
    pile = Pile(old_serves.root)
    weights, _ = pile.weights("acme/retired"), pile.stray("by-hand")
    before, freed = folders(pile), say_freed(pile)
    run = start("reclaim/reclaim", dry_run=False, only=["weights"])
    pages = NewPages(page)
    pages.open_run(run.id)
    read = say_yes(pages, "There is no way back", tmp_path / "deletion", is_there=weights)
    assert wait_for_state(run).name == "Reclaimed" and old_serves.serving == "old"
    assert before - folders(pile) == named_in(read, before) >= {"acme/retired"} and freed in read


@pytest.mark.usefixtures("worker")
def test_a_clean_slate_is_shown_and_agreed_to(old_serves: World, page: Page, tmp_path: Path) -> None:
    """The form says what stops, that nothing serves then, what goes and how much it is; until the yes it serves and all is there, afterwards what
    was named has stopped, and what was listed is gone and nothing else. A rollback starts it again."""
    pile = Pile(old_serves.root)
    weights, _ = pile.weights("acme/cleared"), pile.stray("by-hand-too")
    before, freed, current = folders(pile), say_freed(pile), read_book(old_serves.state).current
    run = start("cleanup/cleanup", dry_run=False, stop=["old"], only=["weights"])
    pages = NewPages(page)
    pages.open_run(run.id)
    read = say_yes(pages, "There is no way back to what is deleted", tmp_path / "cleanup", is_there=weights)
    assert f"stops {current}: nothing serves then" in read and freed in read
    assert wait_for_state(run).name == "Cleaned" and old_serves.serving is None
    assert before - folders(pile) == named_in(read, before) >= {"acme/cleared"}
    assert wait_for_state(start("rollback/rollback", agreed=True)).name == "Completed" and old_serves.serving == "old"


def folders(pile: Pile) -> set[str]:
    """The models whose weights lie on the host, and folders of weights that nobody of us made."""
    return {folder.name.replace("--", "/") for folder in pile.host.weights_root.iterdir() if folder.is_dir() and any(folder.iterdir())}


def say_freed(pile: Pile) -> str:
    """What a yes to the weights frees, as people read it."""
    return say_bytes(sum(item.found.frees_bytes for item in pile.plan("weights").items if item.ask == "yes"))


def named_in(read: str, folders: set[str]) -> set[str]:
    """Those that a text lists as what goes."""
    return {name for name in folders if f"weights of {name}" in read}


def read_drawn_report(page: Page, world: World) -> None:
    """The page that the run left on the host tells the downtime that was counted."""
    drawn = next(run.pictures for run in list_runs(world.state) if run.pictures.exists())
    result = read_model(drawn.with_name("result.json"), RunResult)
    page.goto(drawn.as_uri())
    assert result and result.downtime_s and page.locator("dd").all_inner_texts()[3] == say_time(result.downtime_s)


def read_deployment(name: str) -> UUID:
    """Its id."""
    return get_client(sync_client=True).read_deployment_by_name(name).id


def say_yes(pages: Pages, words: str, picture: Path | None = None, *, is_there: Path | None = None) -> str:
    """Wait until the run asks, read the words, answer yes; what it is about is there until then. All that the page showed."""
    page = pages.page
    wait_until(lambda: is_paused(page), what="the question", deadline_s=300)  # the page shows the one before a moment longer
    pages.resume()
    page.get_by_text(words).first.wait_for()
    pages.flip("Yes, do it")
    if picture is not None:
        take_picture(page, picture.name, picture.parent)
    assert is_there is None or is_there.exists()
    read = page.locator("body").inner_text()
    submit_answer(pages)
    return read


def start_by_form(pages: Pages, deployment: str) -> FlowRun:
    """Send the form that is filled in; the run that it starts."""
    return insist(pages, "Submit", lambda: find_open_run(deployment), what=f"a run of {deployment}")


def submit_answer(pages: Pages) -> None:
    """Send the answer; the form is gone afterwards."""
    insist(pages, pages.submits, lambda: not is_paused(pages.page) or None, what="the answer to arrive")
    pages.page.get_by_text(ASKED).first.wait_for(state="hidden")


def insist(pages: Pages, button: str, arrived: Callable[[], T | None], *, what: str) -> T:
    """Press until the server has it, as people do; what the page says of each try is shown where none gets through."""
    said: list[str] = []
    for _ in range(TRIES):
        with contextlib.suppress(WaitedTooLong, Error):
            press(pages.page, button)
            return wait_until(arrived, what=what, deadline_s=30)
        if (found := arrived()) is not None:
            return found
        said.append(pages.tell())
    raise AssertionError(f"{what}: pressed {TRIES} times; the page said:\n" + "\n---\n".join(said))


def is_paused(page: Page) -> bool:
    """Whether the flow run whose page it is still waits for an answer, as the server has it."""
    run = get_client(sync_client=True).read_flow_run(UUID(urlsplit(page.url).path.rpartition("/")[2]))
    return run.state is not None and run.state.is_paused()
