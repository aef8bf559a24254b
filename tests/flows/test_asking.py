"""What a person is asked: what would be done, how much it is, and what silence means; and what an answer holds for."""

import time
from pathlib import Path

from flows.asking import DECIDED_S, about_cleanup, about_hour, about_plan, about_promotion, about_reclaim, about_starting_again
from modelpivot.facts.reclaimable import read_reclaimable
from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.cleanup import CleanupPlan
from modelpivot.models.cutover import Cutover, Lost
from modelpivot.models.gpu import Gpus
from modelpivot.models.plan import Plan, Question
from modelpivot.models.recipe import Deadlines
from modelpivot.models.release import Stopped
from modelpivot.models.size import say_bytes
from modelpivot.plans.reclaim import plan_reclaim
from modelpivot.recipes import read_recipe
from modelpivot.state.paths import StatePaths
from tests.reclaiming import Pile


def make_plan(text: str) -> Plan:
    return Plan(
        recipe=read_recipe("demo"),
        from_release="old-1",
        candidate=None,
        manifest=None,
        resolution=None,
        questions=[Question(id="downgrade", text=text)],
        strategy="stage first: 540.1 GB (503.0 GiB) come beside what serves",
    )


def test_an_answer_holds_for_the_question_as_it_was_read() -> None:
    """Every question, how much comes, and what silence means; other packages are another question, another disk figure is not."""
    asked = about_plan(make_plan("numpy goes down 2.4.2 -> 2.2.6?"))
    for words in ("numpy goes down 2.4.2 -> 2.2.6?", "540.1 GB", "No, or no answer within a day"):
        assert words in asked.markdown
    other = make_plan("numpy goes down 2.4.2 -> 2.2.6?").model_copy(update={"strategy": "stage first"})
    assert about_plan(other).about == asked.about != about_plan(make_plan("numpy goes down 2.4.2 -> 1.26?")).about


def test_the_last_word_on_a_model_is_asked_with_its_figures_and_its_hour() -> None:
    """Release, address, lost requests, figures, checks, and when it goes back by itself; the question ends when the switch has decided."""
    cutover = Cutover(
        id="c",
        run_id="r",
        from_release="old-1",
        to_release="new-1",
        deadlines=Deadlines(),
        lock_token="t",
        created_at=0,
        confirm_by=time.time() + 600,
        lost=Lost(asked=9, lost_requests=3, downtime_s=4.2),
    )
    measured = Measurement(workload="single", requests=8, successes=8, concurrency=1, output_tokens_per_s=61.5, median_ttft_ms=210)
    asked = about_promotion(cutover, "http://here:8000", [measured], [Check(name="floor", passed=True)])
    for words in ("new-1", "http://here:8000", "3 requests lost in 4.2 s", "61.5 tokens/s", "1 of 1 check passed", "goes back to old-1"):
        assert words in asked.markdown
    assert 590 < asked.timeout_s - DECIDED_S <= 600 and asked.about == "c"


def test_the_first_model_of_a_host_is_kept_in_silence_and_the_question_says_so() -> None:
    """Nothing served before: no answer keeps it, and a no leaves the host as it was."""
    first = Cutover(id="c", run_id="r", from_release=None, to_release="new-1", deadlines=Deadlines(), lock_token="t", created_at=0)
    asked = about_promotion(first, "http://here:8000", [], []).markdown
    assert "No answer: the host keeps the new model" in asked and "No: it stops now, and nothing serves" in asked


def test_an_hour_outside_the_window_is_told_with_the_next_one() -> None:
    """The host's own words for its window, and when it opens."""
    asked = about_hour("new-1", "Sun-Thu 01:00-05:00 UTC", 3600.0)
    assert "Sun-Thu 01:00-05:00 UTC, which opens next at 01:00 UTC" in asked.markdown


def test_what_a_cleanup_stopped_is_asked_about_by_its_names() -> None:
    """All of them, and that nothing stops for it; another record is another question."""
    stopped = [Stopped(name="old-1", at=1.0), Stopped(name="vllm.service", is_release=False, at=2.0)]
    asked = about_starting_again(stopped)
    assert "**old-1, vllm.service**, stopped by name, serve again" in asked.markdown and "Nothing stops for it" in asked.markdown
    assert "**old-1**, stopped by name, serves again" in about_starting_again(stopped[:1]).markdown


def test_a_deletion_is_asked_with_what_goes_and_how_much(tmp_path: Path) -> None:
    """Each thing with its bytes; a yes holds for these contents, and for others not."""
    pile = Pile(tmp_path)
    weights = pile.weights()
    asked = about_reclaim(plan_reclaim(pile.host, read_reclaimable(pile.host, StatePaths(pile.host.state_dir))))
    assert (
        "weights of acme/old" in asked.markdown
        and "frees" in asked.markdown
        and "There is no way back" in asked.markdown
        and "kB" in asked.what
    )
    next(path for path in weights.rglob("*") if path.is_file() and path.stat().st_size).write_bytes(b"other")
    again = about_reclaim(plan_reclaim(pile.host, read_reclaimable(pile.host, StatePaths(pile.host.state_dir))))
    assert again.about != asked.about


def test_what_the_form_names_is_part_of_the_question(tmp_path: Path) -> None:
    """Listed, summed and bound into the answer, for both flows: a yes to the rest is none to that."""
    pile = Pile(tmp_path)
    pile.weights(), pile.stray("by-hand", 700_000)
    made = plan_reclaim(pile.host, read_reclaimable(pile.host, StatePaths(pile.host.state_dir)))
    [named] = [item for item in made.items if item.ask == "named"]
    whole = say_bytes(sum(item.found.frees_bytes for item in made.items))
    cleaned = CleanupPlan(gpus=Gpus(), disks=[], reclaim=made)
    for plain, asked in (
        (about_reclaim(made), about_reclaim(made, [named.id])),
        (about_cleanup(cleaned), about_cleanup(cleaned, [named.id])),
    ):
        assert named.found.what in asked.markdown and whole in asked.markdown and "only by name" not in asked.markdown
        assert named.found.what not in plain.markdown and whole not in plain.markdown and "1 more would go only by name" in plain.markdown
        assert named.id in asked.about and named.id not in plain.about
