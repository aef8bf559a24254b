"""The view: patched there and only there, frozen with its release, and nothing to do the second time."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.files import hash_file
from modelpivot.models.recipe import Patch
from modelpivot.operations.config_file import held, patch_files
from modelpivot.plans.patching import apply_patches
from modelpivot.stages.report import report
from modelpivot.stages.view import freeze, refreeze
from modelpivot.state.releases import keep_recipe, read_recipe_of, read_release
from tests.stages.deciding import PATCH, SCHEME, Desk, tree


@pytest.fixture(autouse=True)
def _quantized(desk: Desk) -> None:
    """The new model asks for an FP8 KV cache."""
    desk.quantize()


def test_the_patch_is_in_the_view_and_the_fetched_file_as_it_came(desk: Desk) -> None:
    """The view's config lost the key, and only it; the fetched directory kept every byte, inode and time."""
    plan = desk.fetched(desk.recipe(patches=[PATCH]))
    assert plan.candidate
    fetched = plan.candidate.weights_dir
    before = tree(fetched)
    release = freeze(desk.context, plan)
    view = json.loads((release.view_dir / "config.json").read_text())
    assert "kv_cache_scheme" not in view["quantization_config"]
    assert tree(fetched) == before
    source = json.loads((fetched / "config.json").read_text())
    assert source["quantization_config"].pop("kv_cache_scheme") == SCHEME
    assert view == source


def test_the_release_is_frozen_with_the_time(desk: Desk) -> None:
    """release.json holds the candidate; only the time was added."""
    plan = desk.fetched()
    release = freeze(desk.context, plan)
    assert release.created_at > 0
    assert read_release(desk.context.state, release.id) == release
    assert release.model_copy(update={"created_at": 0.0}) == plan.candidate


def test_the_recipe_is_kept_beside_the_release(desk: Desk) -> None:
    """The one that comes with the project goes first; where it is gone, or never was there, the release knows what it was made of."""
    plan = desk.fetched()
    release, state = freeze(desk.context, plan), desk.context.state
    edited = desk.recipe(consents=["downgrade"])
    assert read_recipe_of(state, release) == edited != plan.recipe
    (desk.world.deployments / "recipes/new.yaml").unlink()
    assert read_recipe_of(state, release) == plan.recipe
    keep_recipe(state, release.id, edited)
    assert read_recipe_of(state, release) == edited


def test_freezing_again_is_nothing_to_do(desk: Desk) -> None:
    """Same release, same time, no file of it rewritten; the stage says so, and the next plan has no such step."""
    plan = desk.fetched(desk.recipe(patches=[PATCH]))
    first = freeze(desk.context, plan)
    before = tree(first.view_dir.parent)
    assert freeze(desk.context, plan) == first
    assert tree(first.view_dir.parent) == before
    assert desk.words("patch config") == ["started", "finished", "started", "nothing_to_do"]
    assert not desk.plan(plan.recipe).needs("view")


def test_another_threshold_is_frozen_into_the_same_release(desk: Desk) -> None:
    """A probe more is no other release, and the frozen one must hold it."""
    plan = desk.fetched()
    first = freeze(desk.context, plan)
    other = desk.plan(desk.recipe(probes=[{"kind": "answer"}]))
    assert other.needs("view")
    second = freeze(desk.context, other)
    assert (second.id, second.created_at, len(second.probes)) == (first.id, first.created_at, 1)
    assert read_release(desk.context.state, first.id) == second


def test_settings_of_what_serves_go_into_its_record_alone(desk: Desk) -> None:
    """A mended hook, a deadline, a probe more: the same release with the same view, only its record is written anew, and the run says so."""
    first = freeze(desk.context, desk.fetched())
    before = tree(first.view_dir)
    other = desk.plan(desk.recipe(probes=[{"kind": "answer"}], deadlines={"stop_s": 7}, hooks={"drain": ["true"]}))
    assert refreeze(desk.context, other) == ["probes", "deadlines", "hooks"]
    assert other.candidate
    assert read_release(desk.context.state, first.id) == other.candidate.model_copy(update={"created_at": first.created_at})
    assert tree(first.view_dir) == before and desk.words("record") == ["finished"]
    assert refreeze(desk.context, other) == [] and desk.words("record") == ["finished"]


def edit(view: Path) -> None:
    """The patched file, by hand."""
    (view / "config.json").write_text("{}")


def unlink(view: Path) -> None:
    """A shard's link goes."""
    (view / "model-00001-of-00003.safetensors").unlink()


def turn(view: Path) -> None:
    """A shard's link leads elsewhere."""
    unlink(view)
    (view / "model-00001-of-00003.safetensors").symlink_to("/dev/null")


def add(view: Path) -> None:
    """One shard too many."""
    (view / "model-00004-of-00004.safetensors").write_bytes(b"x")


@pytest.mark.parametrize("harm", [edit, unlink, turn, add])
def test_a_view_that_was_changed_is_planned_and_made_again(desk: Desk, harm: Callable[[Path], None]) -> None:
    """Its files are looked into, not its name: the next plan has the step, and the stage puts it right."""
    plan = desk.fetched(desk.recipe(patches=[PATCH]))
    release = freeze(desk.context, plan)
    before = {name: content for name, (_, _, content) in tree(release.view_dir).items()}
    harm(release.view_dir)
    again = desk.plan(plan.recipe)
    assert again.needs("view")
    freeze(desk.context, again)
    assert {name: content for name, (_, _, content) in tree(release.view_dir).items()} == before
    assert not desk.plan(plan.recipe).needs("view")


def test_a_view_whose_weights_are_gone_does_not_stand(desk: Desk) -> None:
    """Links that lead nowhere serve nothing: fetch and view are missing again."""
    plan = desk.fetched()
    release = freeze(desk.context, plan)
    shutil.rmtree(release.weights_dir)
    assert {"fetch", "view"} <= {step.name for step in desk.plan().steps}


def test_two_patches_of_one_file_both_count(desk: Desk) -> None:
    """The second is applied to what the first left."""
    second = {"pointer": "/model_type", "expected": "tiny", "new": "small", "why": "test"}
    release = freeze(desk.context, desk.fetched(desk.recipe(patches=[PATCH, second])))
    view = json.loads((release.view_dir / "config.json").read_text())
    assert view["model_type"] == "small"
    assert "kv_cache_scheme" not in view["quantization_config"]


def test_plan_stage_and_report_show_what_was_patched(desk: Desk) -> None:
    """The lines that differ, with the digests of both files: known in the plan before anything is fetched, and the same in the report."""
    first = desk.plan(desk.recipe(patches=[PATCH]))
    [planned] = first.patched
    plan = desk.fetched(desk.recipe(patches=[PATCH]))
    assert plan.candidate
    release = freeze(desk.context, plan)
    [reported] = report(desk.context.state, desk.context.run.id).patched
    assert reported == planned
    assert (planned.before, planned.after) == (
        hash_file(plan.candidate.weights_dir / "config.json"),
        hash_file(release.view_dir / "config.json"),
    )
    assert any("kv_cache_scheme" in line for line in planned.diff) and planned.why == [PATCH["why"]]


def test_two_recipes_over_one_model_do_not_touch_each_other(desk: Desk) -> None:
    """As published and patched: one set of shards, two releases; freezing, changing and removing the second leaves the first and the weights alone."""
    first = freeze(desk.context, desk.fetched(desk.recipe()))
    before = tree(first.weights_dir), tree(first.view_dir.parent)
    second = freeze(desk.context, desk.plan(desk.recipe(patches=[PATCH])))
    assert second.id != first.id and second.weights_dir == first.weights_dir
    edit(second.view_dir)
    shutil.rmtree(second.view_dir.parent)
    assert (tree(first.weights_dir), tree(first.view_dir.parent)) == before
    assert not desk.plan(desk.recipe()).needs("view")


def test_weights_patched_by_hand_are_served_as_the_plan_says(desk: Desk) -> None:
    """Somebody ran `modelpivot patch` on the fetched directory: plan and view go by the file as it was fetched, and a download leaves their patch."""
    plan = desk.fetched(desk.recipe())
    assert plan.candidate
    fetched = plan.candidate.weights_dir
    text = (fetched / "config.json").read_text()
    by_hand = apply_patches({"config.json": text}, [Patch.model_validate(PATCH)])
    with held(fetched):
        patch_files(fetched, by_hand, [Patch.model_validate(PATCH)])
    again = desk.fetched(desk.recipe())
    assert (fetched / "config.json").read_text() == by_hand["config.json"]
    release = freeze(desk.context, again)
    assert (release.view_dir / "config.json").read_text() == text
    assert not desk.plan(again.recipe).needs("view")


def test_a_patch_of_an_absent_file_that_may_be_missing_does_nothing(desk: Desk) -> None:
    """if_present: the release is frozen without it; without if_present it is refused with the file's name."""
    absent = {"file": "hf_quant_config.json", "pointer": "/quantization/kv_cache_quant_algo", "expected": "FP8", "why": "test"}
    freeze(desk.context, desk.fetched(desk.recipe(patches=[absent | {"if_present": True}])))
    with pytest.raises(PreconditionError, match="hf_quant_config"):
        freeze(desk.context, desk.plan(desk.recipe(patches=[absent])))


def test_a_patch_that_finds_another_value_leaves_no_release(desk: Desk) -> None:
    """Neither view nor release.json appear for a patch of a file that the plan could not look into."""
    wrong = {"file": "generation_config.json", "pointer": "/do_sample", "expected": True, "new": None, "why": "test"}
    plan = desk.fetched(desk.recipe(patches=[wrong]))
    assert plan.candidate
    with pytest.raises(PreconditionError, match="expected true, found false"):
        freeze(desk.context, plan)
    assert not plan.candidate.view_dir.exists()
    assert not desk.context.state.release(plan.candidate.id).release.exists()
    assert desk.words("patch config")[-1] == "failed"
