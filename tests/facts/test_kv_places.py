"""Every shape of a KV cache setting: where it is found, what vLLM takes of it. `tests/inside/test_real_kv.py` asks vLLM itself the same."""

from typing import Any

import pytest

from modelpivot.facts.model_config import parse_model_config
from modelpivot.plans.kv import declared_kv
from modelpivot.plans.kv_rule import kv_patches, say_unknown
from tests.kv_shapes import FP8, SHAPES, flat, inside, top


@pytest.mark.parametrize("name", SHAPES)
def test_what_the_engine_takes_is_told(name: str) -> None:
    """The type that the cache will have, and how many places a rule has to change."""
    shape = SHAPES[name]
    found = parse_model_config(shape.config, shape.aside)
    assert (declared_kv(found, []), len(kv_patches(found, "test"))) == (shape.cache, shape.places)


@pytest.mark.parametrize("name", ["unknown string", "dict of integers", "list"])
def test_an_unknown_shape_is_told_and_left(name: str) -> None:
    """One sentence with file and pointer, and no patch."""
    found = parse_model_config(SHAPES[name].config)
    [sentence] = say_unknown(found)
    assert "config.json" in sentence and found.kv_settings[0].pointer in sentence and "not edited" in sentence
    assert kv_patches(found, "test") == []


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"kv_cache_dtype": "fp8"}, "config.json /kv_cache_dtype"),
        (top({**flat(), "kv_cache_group": ["*k_proj"]}), "config.json /quantization_config/kv_cache_group"),
        (top({**flat(), "export": [{"kvcache_quant/x": "FP8"}]}), "config.json /quantization_config/export/0/kvcache_quant~1x"),
        ({"text_config": {"text_config": {"quantization_config": flat(kv_cache_scheme=FP8)}}},
         "config.json /text_config/text_config/quantization_config/kv_cache_scheme"),
        ({"quantization_config": "fp8"}, "config.json /quantization_config"),
        ({"quantization_config": [flat(kv_cache_scheme=FP8)]}, "config.json /quantization_config"),
    ],
)  # fmt: skip
def test_a_place_that_nobody_knows_is_told_and_left(config: Any, place: str) -> None:
    """Another key, another depth, a block that is no object: said with file and pointer, and no patch."""
    found = parse_model_config(config)
    assert kv_patches(found, "test") == [] and any(sentence.startswith(f"{place} ") for sentence in say_unknown(found))


def test_the_place_that_counts_is_patched_last() -> None:
    """So a patch that is cut off between two files leaves the engine what it read before."""
    found = parse_model_config(SHAPES["both files"].config, SHAPES["both files"].aside)
    assert [patch.file for patch in kv_patches(found, "test")] == ["hf_quant_config.json", "config.json"]


def test_a_block_that_only_other_code_reads_is_patched_and_does_not_count() -> None:
    """`llm_config` means nothing to vLLM, and something to a model's own code."""
    text = inside(flat(kv_cache_scheme=FP8))
    found = parse_model_config({**text, "llm_config": text["text_config"], "text_config": None})
    assert [(setting.pointer, setting.counts) for setting in found.kv_settings] == [
        ("/llm_config/quantization_config/kv_cache_scheme", False)
    ]
    assert len(kv_patches(found, "test")) == 1


@pytest.mark.parametrize("odd", [[], "FP8", 8, True, False, 0, "", [[]], 1e400, -1])
@pytest.mark.parametrize(
    "place",
    [
        "quantization_config",
        "compression_config",
        "text_config",
        "quantization",
        "kv_cache_scheme",
        "producer",
        "architectures",
        "model_type",
    ],
)
def test_an_odd_value_anywhere_is_looked_past(odd: Any, place: str) -> None:
    """No exception, no patch of what is not understood."""
    for config in ({place: odd}, top({**flat(), place: odd}), {**top(flat()), place: odd}, {"text_config": {place: odd}}):
        found = parse_model_config(config, {place: odd})
        patched = {str(patch.expected) for patch in kv_patches(found, "test")}
        assert patched <= {"FP8"}
