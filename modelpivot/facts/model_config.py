"""What config.json says of a model. Needs the parsed file; reads nothing itself.

{"architectures": ["KimiK25ForConditionalGeneration"], "auto_map": {...}, "text_config": {"max_position_embeddings": 262144},
 "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}}
"""

from collections.abc import Mapping

from pydantic import JsonValue

from modelpivot.facts.kv_places import find_kv_settings, find_strange
from modelpivot.facts.layer_kinds import count_layer_kinds, read_window, state_bytes
from modelpivot.facts.quantization import find_quantizations, say_quantization
from modelpivot.models.model_config import Attention, Experts, Latent, ModelConfig

Config = Mapping[str, JsonValue]
TEXT_KEYS = ("text_config", "llm_config", "language_config", "thinker_config", "language_model_config", "text_model_config")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
HEADS = ("num_attention_heads", "n_head", "num_heads", "n_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "multi_query_group_num")
POSITIONS = ("max_position_embeddings", "model_max_length", "max_sequence_length", "max_seq_len", "seq_length", "n_positions")
ROUTED = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts", "num_routed_experts")
PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts", "moe_top_k", "moe_k")
SHARED = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert")
EXPERT_WIDTH = ("moe_intermediate_size", "moe_ffn_hidden_size", "expert_ffn_hidden_size", "intermediate_size")
NEXT_TOKEN = ("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers", "mtp_num_layers")
VISION_KEYS = ("vision_config", "visual", "vision_tower", "audio_config", "mm_vision_tower")


def parse_model_config(config: Config, quantization_file: Config | None = None) -> ModelConfig:
    """The plan's view of config.json; a text model inside a multimodal one is looked through. An unknown shape leaves its field empty."""
    text = text_part(config)
    quantizations = find_quantizations(config, quantization_file)
    layers = _first(text, LAYERS)
    return ModelConfig(
        architectures=_words(config.get("architectures")) or _words(text.get("architectures")),
        model_type=_word(config.get("model_type")),
        text_model_type=_word(text.get("model_type")) or _word(config.get("model_type")),
        max_positions=_first(config, POSITIONS) or _first(text, POSITIONS),
        quantization=say_quantization(quantizations, config),
        quantizations=quantizations,
        kv_settings=find_kv_settings(config, quantization_file, is_latent=_latent(text) is not None),
        kv_strange=find_strange(config, quantization_file),
        has_remote_code=bool(_mapping(config.get("auto_map")) or _mapping(text.get("auto_map"))),
        layers=layers,
        hidden=_first(text, HIDDEN),
        inner=_first(text, ("intermediate_size", "ffn_hidden_size", "n_inner")),
        vocabulary=_first(text, ("vocab_size", "padded_vocab_size")) or _first(config, ("vocab_size",)),
        dtype=_dtype(text) or _dtype(config),
        attention=_attention(text, layers) if layers else None,
        experts=_experts(text),
        next_token_layers=_first(text, NEXT_TOKEN) or 0,
        has_vision=any(config.get(key) for key in VISION_KEYS),
    )


def text_part(config: Config) -> Config:
    """The language model's own part of config.json: the file itself where it is no multimodal model."""
    for key in TEXT_KEYS:
        inner = _mapping(config.get(key))
        if inner:
            return text_part(inner) if not _first(inner, LAYERS) else inner
    return config


def _attention(text: Config, layers: int) -> Attention | None:
    heads, hidden = _first(text, HEADS), _first(text, HIDDEN)
    kinds = count_layer_kinds(text, layers)
    if not heads:
        is_stateful = kinds.linear == layers
        return Attention(heads=1, kv_heads=1, key_dim=0, value_dim=0, full_layers=0, **_state(text, layers)) if is_stateful else None
    latent = _latent(text)
    key_dim = _first(text, ("head_dim", "kv_channels", "qk_head_dim")) or (hidden // heads if hidden else None)
    if key_dim is None and latent is None:
        return None
    return Attention(
        heads=heads,
        kv_heads=1 if text.get("multi_query") is True else _first(text, KV_HEADS) or heads,
        key_dim=key_dim or 0,
        value_dim=_first(text, ("v_head_dim",)) or key_dim or 0,
        latent=latent,
        full_layers=kinds.full,
        window_layers=kinds.window,
        window=read_window(text) if kinds.window else None,
        **_state(text, kinds.linear),
    )


def _state(text: Config, layers: int) -> dict[str, int]:
    return {"linear_layers": layers, "state_bytes": state_bytes(text)} if layers else {}


def _latent(text: Config) -> Latent | None:
    rank = _first(text, ("kv_lora_rank",))
    if not rank:
        return None
    sizes = {"rope_dim": "qk_rope_head_dim", "nope_dim": "qk_nope_head_dim", "index_dim": "index_head_dim"}
    return Latent(kv_rank=rank, **{field: _first(text, (key,)) or 0 for field, key in sizes.items()})


def _experts(text: Config) -> Experts | None:
    routed = _first(text, ROUTED)
    if not routed or routed < 2:
        return None
    return Experts(
        routed=routed, per_token=_first(text, PER_TOKEN) or 1, shared=_first(text, SHARED) or 0, width=_first(text, EXPERT_WIDTH) or 0
    )


def _dtype(config: Config) -> str:
    return _word(config.get("torch_dtype")) or _word(config.get("dtype"))


def _first(config: Config, keys: tuple[str, ...]) -> int | None:
    """The first of these that holds a positive whole number; of a list (one a layer) the largest."""
    for key in keys:
        value = config.get(key)
        if isinstance(value, list) and value and all(_is_count(each) for each in value):
            value = max(each for each in value if isinstance(each, int))
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _mapping(value: JsonValue) -> Config:
    return value if isinstance(value, dict) else {}


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _words(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
