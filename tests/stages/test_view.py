"""The view: patched there and only there, frozen with its release, and nothing to do the second time."""

import json

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.stages.view import freeze
from modelpivot.state.releases import read_release
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


def test_a_view_that_was_changed_by_hand_is_made_again(desk: Desk) -> None:
    """A file of the view that is not what it should be is put right."""
    plan = desk.fetched(desk.recipe(patches=[PATCH]))
    release = freeze(desk.context, plan)
    (release.view_dir / "config.json").write_text("{}")
    freeze(desk.context, plan)
    assert "quantization_config" in json.loads((release.view_dir / "config.json").read_text())


def test_two_patches_of_one_file_both_count(desk: Desk) -> None:
    """The second is applied to what the first left."""
    second = {"pointer": "/model_type", "expected": "tiny", "new": "small", "why": "test"}
    release = freeze(desk.context, desk.fetched(desk.recipe(patches=[PATCH, second])))
    view = json.loads((release.view_dir / "config.json").read_text())
    assert view["model_type"] == "small"
    assert "kv_cache_scheme" not in view["quantization_config"]


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
