"""What an upgrade test decides without touching anything: what is newer, the probe model, room beside what serves, times, and the verdict."""

from typing import Any

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.models.benchmark import Check
from modelpivot.models.comparison import Change, Comparison
from modelpivot.models.cutover import Cutover
from modelpivot.models.frozen import Unread
from modelpivot.models.recipe import Patch, Source
from modelpivot.models.upgrade import UpgradeResult, Verdict
from modelpivot.models.window import Opening
from modelpivot.plans.pivot import plan_pivot
from modelpivot.plans.probe_model import EXCUSED, layers_needed, make_probe
from modelpivot.plans.relaxed import relaxations
from modelpivot.plans.upgrade import find_earlier, is_newer, judge_newest, pin_current, pin_engine, require_movable, standing_blockers
from modelpivot.plans.upgrade_verdict import judge_end, judge_figures, say_next
from modelpivot.plans.window import plan_times, window_blocker
from modelpivot.recipes import read_recipe
from tests.plans.samples import CUDA, HOST, brief_facts, old_release, open_cutover, stated_recipe
from tests.recorded import facts_of

KIMI, DEMO = read_recipe("kimi-k2.5-nvfp4"), read_recipe("demo")


@pytest.mark.parametrize(
    ("found", "current", "newer"),
    [
        ("0.32.0", "0.31.0", True),
        ("0.31.0", "0.31.0", False),
        ("0.30.9", "0.31.0", False),
        ("0.33.0.dev5+gabc", "0.32.0", True),
        ("0.32.0rc1", "0.32.0", False),
        ("0.32.0.dev9", "0.32.0.dev10", False),
        ("0.32.0", "gitabcdef0123", True),
    ],
)
def test_newer_is_by_the_order_of_versions(found: str, current: str, newer: bool) -> None:
    """A release candidate comes before its release; what has no place in the order is left for any other."""
    assert is_newer(found, current) is newer


def test_a_stale_index_has_nothing_newer() -> None:
    """E3: an older nightly, or the stable one, is no change and says both versions."""
    newest = judge_newest(CUDA, "nightly", "0.32.0", "0.31.1.dev3")
    assert newest.verdict == "no_change"
    assert "0.32.0" in newest.message and "0.31.1.dev3" in newest.message
    assert judge_newest(CUDA, "stable", "0.31.0", "0.32.0").verdict is None


def test_what_is_tested_is_named_exactly() -> None:
    """The candidate has its version, a nightly its index too; the current one the very environment that serves, where it serves this recipe."""
    assert pin_engine(KIMI, "0.33.0").engine.version == "0.33.0"
    assert pin_engine(KIMI, "0.33.0.dev1", "nightly").engine.channel == "nightly"
    serving = old_release().model_copy(update={"name": KIMI.name})
    assert pin_current(KIMI, serving, "0.25.0").engine.resolution == "0123456789"
    assert pin_current(KIMI, old_release(), "0.25.0").engine.resolution is None


def test_a_recipe_that_fixes_its_engine_is_refused() -> None:
    """A git commit has no newer one in an index; a requirement with a version to fill in has."""
    fixed, open_ = (
        KIMI.engine.model_copy(update={"requirements": [line]}) for line in ("vllm @ git+https://x/y@abc", "vllm[x]=={version}")
    )
    require_movable(KIMI.model_copy(update={"engine": open_}))
    with pytest.raises(PreconditionError, match="fixes its engine"):
        require_movable(KIMI.model_copy(update={"engine": fixed}))


def test_what_a_pivot_would_ask_keeps_no_test_away() -> None:
    """Packages that a policy blocks are told and tried; a full disk blocks a test as it blocks a pivot."""
    plan = plan_pivot(stated_recipe(), HOST, brief_facts(), CUDA)
    disk, packages = (
        plan.model_copy(update={"blockers": [window_blocker(None, 0, None, 0).model_copy(update={"code": code})]})
        for code in ("DISK_FULL", "PACKAGES_BLOCKED")
    )
    assert [one.code for one in standing_blockers(disk)] == ["DISK_FULL"]
    assert standing_blockers(packages) == []
    assert standing_blockers(disk, ["DISK_FULL"]) == []


def test_a_verdict_that_holds_is_found_again() -> None:
    """The newest decided one of the same release; what could not be told is tried again."""
    open_, passed = (result("cannot_tell", "x-1"), result("passed", "x-1"))
    assert find_earlier([open_, passed], "x-1") == passed
    assert find_earlier([open_], "x-1") is None
    assert find_earlier([passed], "x-2") is None


def result(verdict: Verdict, candidate: str = "x-1", **changes: Any) -> UpgradeResult:
    """One test of 0.32 against 0.31."""
    known = {
        "run_id": "run-1",
        "at": 0,
        "message": "",
        "recipe": "x",
        "channel": "stable",
        "current_version": "0.31.0",
        "candidate_version": "0.32.0",
    }
    return UpgradeResult.model_validate({**known, "verdict": verdict, "candidate": candidate, **changes})


def test_the_probe_model_has_every_kind_of_layer_and_no_weights() -> None:
    """Of the recorded Kimi: its dense layer and one with experts, the text model's own count patched, one GPU, no floors, a name of its own."""
    config = facts_of("pro6000-serving").model.config
    assert not isinstance(config, Unread)
    recipe, model = make_probe(KIMI.model_copy(update={"floors": []}), config)
    text = config["text_config"]
    assert isinstance(text, dict)
    shorter = next(patch for patch in recipe.patches if patch.pointer == "/text_config/num_hidden_layers")
    assert (shorter.expected, shorter.new) == (text["num_hidden_layers"], 2)
    assert (recipe.name, recipe.serve.gpus, recipe.serve.args["load-format"]) == (f"{KIMI.name}-probe", 1, "dummy")
    assert "tensor-parallel-size" not in recipe.serve.args
    assert model == f"probe model: 2 of {text['num_hidden_layers']} layers of {KIMI.model.repo}, random weights"


@pytest.mark.parametrize(
    ("block", "needed"),
    [
        ({"num_hidden_layers": 61, "first_k_dense_replace": 1}, 2),
        ({"num_hidden_layers": 61, "first_k_dense_replace": 3}, 4),
        ({"num_hidden_layers": 48, "full_attention_interval": 4}, 4),
        ({"num_hidden_layers": 6, "layer_types": ["linear"] * 5 + ["full"]}, 6),
        ({"num_hidden_layers": 2, "layer_types": ["linear", "full"]}, 2),
        ({}, 2),
    ],
)
def test_as_many_layers_as_have_every_kind_among_them(block: dict[str, Any], needed: int) -> None:
    """Dense ones before experts, full attention every few layers, a list of kinds."""
    assert layers_needed(block) == needed


def test_a_list_that_tells_of_each_layer_is_shortened_with_them() -> None:
    """Else the engine refuses a list of another length than the number of layers."""
    patches = make_probe(DEMO, {"num_hidden_layers": 4, "layer_types": ["a", "b", "a", "b"]}).recipe.patches
    assert [(patch.pointer, patch.new) for patch in patches if patch.why.startswith("the probe model")] == [
        ("/num_hidden_layers", 2),
        ("/layer_types", ["a", "b"]),
    ]


def test_a_recipe_that_names_a_probe_model_is_taken_at_its_word() -> None:
    """Its real weights, its own flags and probes; only the name is another."""
    named = KIMI.model_copy(update={"probe_model": Source(repo="acme/small-kimi")})
    recipe, model = make_probe(named, {})
    assert (recipe.model.repo, recipe.probes, recipe.serve) == ("acme/small-kimi", KIMI.probes, KIMI.serve)
    assert model == "probe model acme/small-kimi"


def test_the_way_back_begins_early_enough() -> None:
    """Half as long again as the last start, and the stop, before the window's end; without time for one start it does not begin."""
    opening = Opening(begins=0, ends=10_000)
    times = plan_times(opening, 1000, start_s=600, stop_s=90)
    assert times and (times.turn_at, times.back_by) == (10_000 - 900 - 90, 10_000)
    assert plan_times(opening, 8500, start_s=600, stop_s=90) is None


@pytest.mark.parametrize(
    ("words", "opening", "code", "said"),
    [
        (None, None, "NO_WINDOW", "MODELPIVOT_WINDOW"),
        ("01:00-05:00", None, "OUTSIDE_WINDOW", "it opens Fri 02 Jan 01:00 UTC"),
        ("01:00-05:00", Opening(begins=0, ends=60_000), "WINDOW_TOO_SHORT", "widen"),
    ],
)
def test_why_nothing_is_stopped_now_is_said(words: str | None, opening: Opening | None, code: str, said: str) -> None:
    """At 12:00 UTC of the first day of the epoch."""
    blocker = window_blocker(words, 43_200.0, opening, 600)
    assert blocker.code == code
    assert said in blocker.remedy


def closed(to: str, step: str) -> Cutover:
    """A trial that went back."""
    return open_cutover(to).model_copy(update={"failed_step": step, "reason": "because"})


@pytest.mark.parametrize(
    ("to", "step", "verdict"),
    [
        ("new", "ready", "failed_to_start"),
        ("new", "serve", "failed_to_start"),
        ("new", "probe", "failed_to_start"),
        ("new", "confirm", "failed_to_start"),
        ("new", "prove free", "cannot_tell"),
        ("new", "", "cannot_tell"),
        ("current", "ready", "cannot_tell"),
    ],
)
def test_only_what_the_new_engine_does_is_held_against_it(to: str, step: str, verdict: Verdict) -> None:
    """A port that somebody took, the time, or the current version failing in the same place say nothing of it."""
    assert judge_end(closed(to, step), "new").verdict == verdict


def comparison(verdict: str) -> Comparison:
    """One figure, moved."""
    change = Change.model_validate(
        {
            "workload": "single", "metric": "output_tokens_per_s", "baseline": 60, "candidate": 50, "change": -1 / 6, "band": 0.02,
            "threshold": 0.05, "verdict": verdict, "baseline_starts": 3, "candidate_starts": 3,
        }
    )  # fmt: skip
    return Comparison(baseline="a", candidate="b", changes=[change], verdict=change.verdict)


VALID = Check(name="single: valid", passed=True)
VOID = Check(name="single: valid", passed=False, expected="figures that say something", found="nothing succeeded")
FLOOR = Check(name="single: success rate", passed=False, expected="at least 100.0%", found="50.0%")


@pytest.mark.parametrize(
    ("checks", "compared", "verdict"),
    [
        ([VALID], "passed", "passed"),
        ([VALID], "improved", "passed"),
        ([VALID], "regressed", "regressed"),
        ([VALID], "cannot tell", "cannot_tell"),
        ([VALID], None, "cannot_tell"),
        ([VOID], "passed", "cannot_tell"),
        ([VALID, FLOOR], "passed", "regressed"),
    ],
)
def test_the_verdict_of_figures(checks: list[Check], compared: str | None, verdict: Verdict) -> None:
    """Void figures say nothing, a missed floor says no, without a comparison nobody knows."""
    assert judge_figures(checks, comparison(compared) if compared else None, has_workloads=True).verdict == verdict


def test_a_recipe_that_measures_nothing_passes_by_its_probes() -> None:
    """It starts and answers: that is what is said."""
    said = judge_figures([], None, has_workloads=False)
    assert (said.verdict, "measures nothing" in said.message) == ("passed", True)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("passed", "modelpivot run"),
        ("regressed", "stay on 0.31.0"),
        ("failed_to_start", "stay on 0.31.0"),
        ("cannot_tell", "again"),
        ("no_change", ""),
    ],
)
def test_every_verdict_has_its_next_move(verdict: Verdict, words: str) -> None:
    """What a person does; nothing where there is nothing to do."""
    move = say_next(result(verdict, pinned_recipe="/x/candidate.yaml"))
    assert words in move
    assert bool(move) == bool(words)


def test_each_reason_for_patches_is_tried_without() -> None:
    """A rule's patches go together, under its name; those that make the probe model are part of it; the plan holds the relaxed candidate."""
    by_rule = [Patch(pointer=f"/{name}", expected=1, remove=True, why="rule fp8-kv-sm120: gives noise") for name in ("a", "b")]
    probe = Patch(pointer="/num_hidden_layers", expected=61, new=2, why="the probe model has 2 of 61 layers")
    own = Patch(pointer="/c", expected=1, remove=True, why="it is odd")
    recipe = stated_recipe().model_copy(update={"patches": [*by_rule, probe, own]})
    plan = plan_pivot(stated_recipe(), HOST, brief_facts(), CUDA).model_copy(update={"decided": recipe})
    found = relaxations(plan, HOST, CUDA)
    assert [one.what for one in found] == ["rule fp8-kv-sm120", "the recipe's patch of config.json /c"]
    without_rule = found[0].plan.candidate
    assert without_rule and [patch.pointer for patch in without_rule.patches] == ["/num_hidden_layers", "/c"]


def test_what_the_probe_model_excuses_are_codes_of_the_plan() -> None:
    """A code that nobody gives any more would excuse nothing, in silence."""
    from pathlib import Path

    sources = "".join(
        path.read_text() for path in Path(__file__).parents[2].joinpath("modelpivot/plans").glob("*.py") if path.name != "probe_model.py"
    )
    assert [code for code in EXCUSED if f'"{code}"' not in sources] == []
