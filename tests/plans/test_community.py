"""Recipes of vLLM's community: taken over where a pivot knows the words, and whatever else they hold is listed and breaks nothing."""

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from modelpivot.errors import UsageError
from modelpivot.models.recipe import Recipe
from modelpivot.models.yaml_text import read_yaml
from modelpivot.plans.community import Imported, import_recipe
from modelpivot.plans.engine_words import parse_words
from modelpivot.plans.recipe_text import recipe_text

WHOLE: dict[str, Any] = {
    "meta": {"title": "Big", "description": "A big model", "hardware": {"h200": "verified"}},
    "model": {
        "model_id": "acme/Big",
        "min_vllm_version": "0.19.1",
        "context_length": 262144,
        "base_args": ["--trust-remote-code", "--kernel-config.enable_x=False", "-cc.pass_config.y=True"],
        "base_env": {"A": 1},
    },
    "features": {
        "tool_calling": {"description": "tools", "args": ["--tool-call-parser", "big", "--enable-auto-tool-choice"]},
        "long_context": {"args": ["--max-model-len", "1048576"], "env": {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}},
        "spec": {
            "default_mode": "mtp",
            "modes": {"mtp": {"args": ["--speculative-config", '{"method":"mtp"}']}, "other": {"args": ["--x"]}},
        },
        "draft": {"args": ["--speculative-config", '{"method":"eagle3","model":"acme/Draft"}']},
        "text_only": {"args": ["--language-model-only"]},
        "encoder": {"hardware_overrides": {"nvidia": {"args": ["--mm-encoder-tp-mode", "data"]}, "amd": {"args": ["--amd-only"]}}},
    },
    "opt_in_features": ["text_only", "long_context", "draft"],
    "variants": {
        "default": {"precision": "bf16", "vram_minimum_gb": 714},
        "nvfp4": {
            "model_id": "acme/Big-NVFP4",
            "vram_minimum_gb": 300,
            "tp": 4,
            "extra_args": ["--kv-cache-dtype", "fp8"],
            "extra_env": {"VLLM_USE_FLASHINFER_MOE_FP4": "1"},
            "hardware_overrides": {"rtx_pro_6000": {"extra_args": ["--gpu-memory-utilization", "0.92"], "docker_image": "x"}},
        },
    },
    "dependencies": [
        {"note": "kernel", "command": "uv pip install git+https://example.org/deepgemm.git --no-build-isolation"},
        {"command": "uv pip install -U 'transformers'"},
        {"command": "uv pip install --upgrade blobfile tiktoken>=0.7"},
        {"command": "pip install rocm-thing", "brand": "AMD"},
    ],
    "compatible_strategies": ["single_node_tp", "single_node_tep", "multi_node_tp"],
    "hardware_overrides": {"amd": {"extra_env": {"VLLM_ROCM_USE_AITER": "1"}}, "blackwell": {"extra_env": {"B": "1"}}},
    "strategy_overrides": {"single_node_tep": {"extra_args": ["--all2all-backend", "pplx"]}, "pd_cluster": {"prefill": {"nodes": 1}}},
    "guide": "## Overview\n",
}


def imported(document: object = WHOLE, **options: Any) -> Imported:
    """One of ours."""
    return import_recipe(document, "Big", tested=["0.26.0"], **options)


def with_block(**changes: Any) -> dict[str, Any]:
    """The file with other blocks."""
    return {**WHOLE, **changes}


def test_the_default_variant_is_taken_over() -> None:
    """Flags and variables of base and features that are on, each with the key it comes from."""
    found = imported()
    serve = found.recipe.serve
    assert (found.recipe.name, found.recipe.model.repo, serve.gpus) == ("big", "acme/Big", 8)
    assert serve.args == {
        "trust-remote-code": True,
        "kernel-config.enable_x": "False",
        "compilation-config.pass_config.y": "True",
        "tool-call-parser": "big",
        "enable-auto-tool-choice": True,
        "speculative-config": '{"method":"mtp"}',
        "mm-encoder-tp-mode": "data",
        "tensor-parallel-size": 8,
    }
    assert serve.env == {"A": "1"}
    assert found.reasons["serve.args.tool-call-parser"] == "features.tool_calling"
    assert "714" in found.reasons["serve.gpus"]


def test_a_variant_brings_its_own_repository_and_flags() -> None:
    """Its words go over the base; its cards are counted by its `tp`."""
    found = imported(variant="nvfp4", hardware="rtx_pro_6000")
    serve = found.recipe.serve
    assert (found.recipe.name, found.recipe.model.repo, serve.gpus) == ("big-nvfp4", "acme/Big-NVFP4", 4)
    assert (serve.args["kv-cache-dtype"], serve.args["gpu-memory-utilization"], serve.args["tensor-parallel-size"]) == ("fp8", 0.92, 4)
    assert serve.env == {"A": "1", "VLLM_USE_FLASHINFER_MOE_FP4": "1", "B": "1"}


def test_a_strategy_of_one_host_divides_the_model() -> None:
    """Expert parallel with its override, or data parallel over all cards."""
    tep = imported(strategy="single_node_tep").recipe.serve.args
    dep = imported(strategy="single_node_dep", gpus=2).recipe.serve.args
    assert (tep["enable-expert-parallel"], tep["all2all-backend"], tep["tensor-parallel-size"]) == (True, "pplx", 8)
    assert (dep["data-parallel-size"], dep["enable-expert-parallel"], dep.get("tensor-parallel-size")) == (2, True, None)


def test_what_is_not_taken_over_is_listed_by_key() -> None:
    """Opt-in features, other hardware, other strategies, sources to build, containers, text for people."""
    told = "\n".join(imported(variant="nvfp4", hardware="rtx_pro_6000").not_taken)
    for key in (
        "features.text_only",
        "features.long_context",
        "features.draft",
        "hardware_overrides.amd",
        "variants.nvfp4.hardware_overrides.rtx_pro_6000.docker_image",
        "strategy_overrides.pd_cluster",
        "strategy_overrides.single_node_tep",
        "dependencies[0]",
        "dependencies[3]",
        "model.context_length",
        "variants.default",
        "guide",
        "meta",
    ):
        assert key in told, key


def test_plain_requirements_are_taken_and_sources_are_not() -> None:
    """`pip install NAME` is a requirement; a git checkout, another brand's wheel and shell are not."""
    assert imported().recipe.engine.extra_requirements == ["blobfile", "tiktoken>=0.7"]


def test_a_draft_model_of_another_repository_does_not_come_along() -> None:
    """A pivot brings one repository: the flag would fail offline."""
    document = with_block(opt_in_features=[])
    found = imported(document)
    assert "speculative-config" not in found.recipe.serve.args and any("acme/Draft" in line for line in found.not_taken)


def test_fields_of_their_own_go_to_their_fields() -> None:
    """Name and port are fields; an address, a key and a template outside the repository stay behind."""
    args = ["--served-model-name", "big", "--port", "9000", "--host", "0.0.0.0", "--api-key", "x", "--chat-template", "examples/t.jinja"]
    found = imported(with_block(model={"model_id": "acme/Big", "base_args": args}, features={}))
    assert (found.recipe.serve.served_name, found.recipe.serve.port, found.recipe.serve.bind) == ("big", 9000, "127.0.0.1")
    assert set(found.recipe.serve.args) == {"tensor-parallel-size"}
    assert all(any(word in line for line in found.not_taken) for word in ("--host", "--api-key", "--chat-template"))


def test_a_version_newer_than_the_tested_one_is_asked_for() -> None:
    """The plan asks about it then; a word that is no version is listed."""
    newer = imported(with_block(model={"model_id": "acme/Big", "min_vllm_version": "0.31.0"}))
    odd = imported(with_block(model={"model_id": "acme/Big", "min_vllm_version": "nightly"}))
    assert newer.recipe.engine.version == "0.31.0" and odd.recipe.engine.version is None
    assert any("nightly" in line for line in odd.not_taken)


@pytest.mark.parametrize("options", [{"variant": "int3"}, {"strategy": "multi_node_tp"}])
def test_a_wrong_choice_names_what_there_is(options: dict[str, str]) -> None:
    """Exit 2 with the names."""
    with pytest.raises(UsageError, match=r"nvfp4|single_node_tp"):
        imported(**options)


@pytest.mark.parametrize("document", [None, [], "text", {}, {"model": {"model_id": "no slash"}}, {"model": {"model_id": "a/../b"}}])
def test_a_file_without_a_model_is_refused(document: object) -> None:
    """With the field that is missing."""
    with pytest.raises(UsageError, match=r"model\.model_id"):
        imported(document)


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    [*WHOLE, "model.base_args", "model.base_env", "variants.default", "features.tool_calling", "strategy_overrides.single_node_tp"]
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, ODD, max_size=5))
def test_no_shape_of_any_block_breaks_it(changes: dict[str, Any]) -> None:
    """Whatever stands where something else was meant: a recipe comes out, and its text is read back as the same one."""
    document = {key: dict(value) if isinstance(value, dict) else value for key, value in WHOLE.items()}
    for key, value in changes.items():
        top, _, below = key.partition(".")
        if below and isinstance(document.get(top), dict):
            document[top][below] = value
        elif top != "model":
            document[top] = value
    found = imported(document)
    assert Recipe.model_validate(yaml.safe_load(recipe_text(found.recipe, found.reasons))) == found.recipe


NOBODY_READS = [
    ("features", []),
    ("variants", ["default"]),
    ("model.base_args", 5),
    ("model.base_env", "A=1"),
    ("model.odd", 1),
    ("variants.default.odd", 1),
    ("features.tool_calling.odd", 1),
    ("features.tool_calling.modes", {"fast": {"args": ["--fast"]}, "slow": {"args": ["--slow"], "odd": 1}}),
    ("features.tool_calling.hardware_overrides", {"mi355x": {"args": ["--amd"]}}),
    ("strategy_overrides", {"single_node_tp": {"odd": 1}}),
    ("hardware_overrides", {"nvidia": {"odd": 1}, "amd": {}}),
    ("hardware_opt_in_features", {"gb200": ["tool_calling"]}),
    ("odd", {"a": 1}),
]


@pytest.mark.parametrize(("key", "value"), NOBODY_READS, ids=[key for key, _ in NOBODY_READS])
def test_nothing_is_dropped_in_silence(key: str, value: object) -> None:
    """A key that nobody reads, or a value of another shape than expected, is listed by its key."""
    document = copy.deepcopy(WHOLE)
    *above, last = key.split(".")
    place: Any = document
    for name in above:
        place = place.setdefault(name, {})
    place[last] = value
    told = imported(document).not_taken
    assert any(line.startswith(key) for line in told), told


def test_a_feature_that_is_off_on_one_card_is_off_there() -> None:
    """hardware_opt_in_features: on elsewhere."""
    document = {**WHOLE, "hardware_opt_in_features": {"gb200": ["tool_calling"]}}
    here, there = imported(document, hardware="gb200"), imported(document)
    assert any(line.startswith("features.tool_calling: off") for line in here.not_taken)
    assert "tool-call-parser" in there.recipe.serve.args and "tool-call-parser" not in here.recipe.serve.args


@pytest.mark.parametrize(
    "change",
    [
        {"vram_minimum_gb": 10**400},
        {"vram_minimum_gb": "\x07\x1b"},
        {"vram_minimum_gb": "a\x85b"},
        {"tp": True},
        {"tp": 10**30},
        {"extra_args": ["--a", "\x85\u2028"]},
        {"extra_args": ["--speculative-config", "[" * 100_000]},
        {"extra_args": ["--a", "9" * 6000, "--b", "1e999", "--c", "-" + "9" * 6000]},
        {"extra_args": ["--tensor-parallel-size", "9" * 30]},
        {"extra_args": ["--rope-scaling", {"factor": 4.0, "deep": [True, None]}]},
    ],
)
def test_odd_values_come_out_readable(change: dict[str, Any]) -> None:
    """Numbers without end, control characters, other lines' ends, objects among the words: one recipe, read back as the same."""
    document = copy.deepcopy(WHOLE)
    document["variants"]["default"] |= change
    found = imported(document)
    assert Recipe.model_validate(read_yaml(recipe_text(found.recipe, found.reasons))) == found.recipe
    assert found.recipe.serve.gpus <= 1024


def test_objects_among_the_words_are_json() -> None:
    """As an engine reads them, not as Python writes them."""
    assert parse_words(["--rope-scaling", {"factor": 4.0, "on": True}]).flags == {"rope-scaling": '{"factor": 4.0, "on": true}'}
    assert parse_words({"--trust-remote-code": True, "max-model-len": 8}).flags == {"trust-remote-code": True, "max-model-len": 8}


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["-tp", "8", "--a_b", "1.5", "--c"], {"tensor-parallel-size": 8, "a-b": 1.5, "c": True}),
        (["--max-model-len=-1", "--x", "-1"], {"max-model-len": -1, "x": -1}),
        ("--json '{\"a\": 1}' --list a b", {"json": '{"a": 1}', "list": ["a", "b"]}),
        (["--twice", "1", "--twice", "2"], {"twice": 2}),
        (None, {}),
    ],
)
def test_words_of_a_command_line(words: object, flags: dict[str, object]) -> None:
    """Short names, underscores, numbers below zero, several values, and the last one of two."""
    assert parse_words(words).flags == flags


def test_words_that_no_flag_owns_are_told() -> None:
    """A model's name in front, or a flag that cannot be one."""
    assert parse_words(["acme/Big", "--Bad Flag", "1"]).left == [
        "acme/Big: no flag stands before it",
        "--Bad Flag: not a flag that a recipe can hold",
    ]
