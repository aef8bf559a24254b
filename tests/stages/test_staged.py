"""What was staged is found again by the words of the recipe it was staged for, and by nothing else."""

import shutil

from modelpivot.models.plan import Plan
from modelpivot.models.recipe import EngineChoice, Source
from modelpivot.models.release import Release
from modelpivot.stages.staged import note_staged, pin_staged
from modelpivot.state.releases import write_release
from tests.stages.deciding import Desk


def staged(desk: Desk) -> tuple[Plan, Release]:
    """A plan whose candidate is noted as complete."""
    plan = desk.plan()
    assert plan.candidate and plan.resolution
    write_release(desk.context.state, plan.candidate)
    note_staged(desk.context, plan, plan.candidate)
    return plan, plan.candidate


def test_the_same_words_are_pinned_to_what_was_staged(desk: Desk) -> None:
    """Commit and packages of the candidate; everything else of the recipe is as it is now."""
    plan, release = staged(desk)
    now = plan.recipe.model_copy(update={"description": "other words"})
    pinned = pin_staged(desk.context, now)
    assert plan.resolution and (pinned.model.revision, pinned.engine.resolution) == (release.commit, plan.resolution.digest)
    model, engine = pinned.model.model_copy(update={"revision": "main"}), pinned.engine.model_copy(update={"resolution": None})
    assert pinned.model_copy(update={"model": model, "engine": engine}) == now


def test_other_words_are_not_what_was_staged(desk: Desk) -> None:
    """Another branch, another engine version, another recipe, or a release that is gone: the recipe is as it is."""
    recipe = staged(desk)[0].recipe
    others = [
        recipe.model_copy(update={"model": Source(repo=recipe.model.repo, revision="dev")}),
        recipe.model_copy(update={"engine": EngineChoice(name=recipe.engine.name, version="9.9")}),
        recipe.model_copy(update={"name": "another"}),
    ]
    assert [pin_staged(desk.context, other) for other in others] == others
    shutil.rmtree(desk.context.state.root / "releases")
    assert pin_staged(desk.context, recipe) == recipe
