"""What config.json says of a model, in the shapes that checkpoints have."""

import pytest
from pydantic import JsonValue

from modelpivot.facts.model_config import parse_model_config
from modelpivot.models.model_config import Attention, Experts, Latent, ModelConfig

SCHEME: JsonValue = {"dynamic": False, "num_bits": 8, "type": "float"}
BLOCK: dict[str, JsonValue] = {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": SCHEME}
MULTIMODAL: dict[str, JsonValue] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "auto_map": {"AutoConfig": "configuration_kimi_k25.KimiK25Config"},
    "text_config": {"max_position_embeddings": 262144, "architectures": ["DeepseekV3ForCausalLM"]},
    "quantization_config": BLOCK,
}


def pointers(config: dict[str, JsonValue]) -> list[str]:
    """Where the KV cache's type is set."""
    return [setting.pointer for setting in parse_model_config(config).kv_settings]


def test_a_multimodal_model_is_read_through_its_text_model() -> None:
    """The outer architecture is served, the inner context counts, and code of its own is noticed."""
    found = parse_model_config(MULTIMODAL)
    assert found.architectures == ["KimiK25ForConditionalGeneration"]
    assert (found.max_positions, found.quantization, found.has_remote_code) == (262144, "modelopt NVFP4", True)


def test_the_kv_setting_is_found_in_both_places() -> None:
    """At the top and inside the text model."""
    assert pointers(MULTIMODAL) == ["/quantization_config/kv_cache_scheme"]
    assert pointers({"text_config": {"quantization_config": BLOCK}}) == ["/text_config/quantization_config/kv_cache_scheme"]


@pytest.mark.parametrize("value", [None, "absent"])
def test_a_setting_of_null_sets_nothing(value: JsonValue) -> None:
    """null is how the key is switched off; no key is no setting either."""
    block = {"quant_method": "modelopt", **({} if value == "absent" else {"kv_cache_scheme": value})}
    assert pointers({"quantization_config": block}) == []


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"architectures": "text", "model_type": 3, "max_position_embeddings": "many", "quantization_config": [], "text_config": None},
        {"max_position_embeddings": True, "auto_map": {}, "architectures": [1, None]},
    ],
)
def test_an_unknown_shape_leaves_its_field_empty(config: dict[str, JsonValue]) -> None:
    """Nothing is guessed and nothing raises; a block that is no object is told."""
    assert parse_model_config(config).model_copy(update={"kv_strange": []}) == ModelConfig()


DEEPSEEK: dict[str, JsonValue] = {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "hidden_size": 7168,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "moe_intermediate_size": 2048,
    "num_nextn_predict_layers": 1,
    "torch_dtype": "bfloat16",
}
PLAIN: dict[str, JsonValue] = {"num_hidden_layers": 24, "num_attention_heads": 32, "hidden_size": 4096}


def attention(**config: JsonValue) -> Attention:
    """The attention of a plain model with these fields over it."""
    found = parse_model_config({**PLAIN, **config}).attention
    assert found is not None
    return found


def test_latent_attention_and_experts_are_read() -> None:
    """MLA with its widths, experts with their number, and the layers that only prediction needs."""
    found = parse_model_config(DEEPSEEK)
    assert found.kind == "MLA" and found.attention and found.attention.latent == Latent(kv_rank=512, rope_dim=64, nope_dim=128)
    assert found.experts == Experts(routed=256, per_token=8, shared=1, width=2048)
    assert (found.next_token_layers, found.dtype) == (1, "bfloat16")


@pytest.mark.parametrize(
    ("config", "kind", "heads"),
    [
        ({}, "MHA", 32),
        ({"num_key_value_heads": 8}, "GQA", 8),
        ({"num_key_value_heads": 1}, "MQA", 1),
        ({"multi_query": True}, "MQA", 1),
    ],
)
def test_kinds_of_attention(config: dict[str, JsonValue], kind: str, heads: int) -> None:
    """By the heads that keep keys."""
    found = parse_model_config({**PLAIN, **config})
    assert (found.kind, found.attention.kv_heads if found.attention else 0) == (kind, heads)


@pytest.mark.parametrize(
    ("config", "full", "window", "linear"),
    [
        ({}, 24, 0, 0),
        ({"sliding_window": 4096}, 0, 24, 0),
        ({"sliding_window": 4096, "use_sliding_window": False}, 24, 0, 0),
        ({"sliding_window": None}, 24, 0, 0),
        ({"sliding_window": 1024, "sliding_window_pattern": 6}, 4, 20, 0),
        ({"sliding_window": 4096, "model_type": "gemma2"}, 12, 12, 0),
        ({"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 20}, 20, 4, 0),
        ({"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 12}, 12, 12, 0),
        ({"layer_types": ["linear_attention"] * 3 + ["full_attention"], "num_hidden_layers": 4}, 1, 0, 3),
        ({"full_attention_interval": 4, "linear_num_value_heads": 32}, 6, 0, 18),
        ({"hybrid_override_pattern": "M-M*-E" * 4}, 4, 0, 8),
        ({"attn_layer_period": 8, "attn_layer_offset": 4}, 3, 0, 21),
        ({"attn_type_list": [0, 0, 0, 1] * 6}, 6, 0, 18),
        ({"layers_block_type": ["mamba", "mamba", "attention"] * 8}, 8, 0, 16),
        ({"linear_attn_config": {"full_attn_layers": [4, 8, 12], "num_heads": 32, "head_dim": 128}}, 3, 0, 21),
        ({"attention_chunk_size": 8192, "layer_types": ["chunked_attention", "full_attention"] * 12}, 12, 12, 0),
    ],
)
def test_layers_by_what_they_keep(config: dict[str, JsonValue], full: int, window: int, linear: int) -> None:
    """In the spellings of a dozen families."""
    found = attention(**config)
    assert (found.full_layers, found.window_layers, found.linear_layers) == (full, window, linear)
    assert bool(found.state_bytes) == bool(linear)


def test_a_state_space_model_keeps_no_keys() -> None:
    """All layers linear: no cache that grows."""
    found = parse_model_config({"model_type": "mamba2", "num_hidden_layers": 8, "hidden_size": 1024, "state_size": 128})
    assert found.kind == "none" and found.attention and found.attention.linear_layers == 8


@pytest.mark.parametrize("key", ["text_config", "llm_config", "thinker_config"])
def test_the_language_model_is_found_inside(key: str) -> None:
    """Whatever the outer model calls it, one level deeper too."""
    inner: JsonValue = {**PLAIN, "max_position_embeddings": 32768}
    nested: dict[str, JsonValue] = {key: {"text_config": inner}} if key == "thinker_config" else {key: inner}
    found = parse_model_config({**nested, "vision_config": {"depth": 2}})
    assert (found.layers, found.max_positions, found.has_vision) == (24, 32768, True)


def test_every_place_of_a_quantization_is_told_and_one_counts() -> None:
    """E6: config.json goes before hf_quant_config.json, which counts where config.json has no block."""
    older: dict[str, JsonValue] = {
        "producer": {"name": "modelopt"},
        "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"},
    }
    both, alone = parse_model_config({"quantization_config": BLOCK}, older), parse_model_config({}, older)
    assert [(place.file, place.counts) for place in both.quantizations] == [("config.json", True), ("hf_quant_config.json", False)]
    assert [(setting.file, setting.counts) for setting in both.kv_settings] == [("config.json", True), ("hf_quant_config.json", False)]
    assert [(setting.pointer, setting.counts) for setting in alone.kv_settings] == [("/quantization/kv_cache_quant_algo", True)]
    assert alone.quantization == "modelopt NVFP4"


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"quant_method": "fp8", "activation_scheme": "dynamic"}, "fp8"),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int"}}}},
            "compressed-tensors INT4",
        ),
        ({"quant_method": "gptq", "bits": 4}, "gptq INT4"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
    ],
)
def test_a_quantization_in_words(block: dict[str, JsonValue], words: str) -> None:
    """Method, and the weights' type where the method leaves it open."""
    assert parse_model_config({"quantization_config": block}).quantization == words
