"""What config.json says of a model, in the shapes that checkpoints have."""

import pytest
from pydantic import JsonValue

from modelpivot.facts.model_config import parse_model_config
from modelpivot.models.model_config import ModelConfig

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
    """Nothing is guessed and nothing raises."""
    assert parse_model_config(config) == ModelConfig()
