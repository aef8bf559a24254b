"""What config.json says of a model. Needs the parsed file; reads nothing itself.

{"architectures": ["KimiK25ForConditionalGeneration"], "auto_map": {...}, "text_config": {"max_position_embeddings": 262144},
 "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}}
"""

from pydantic import JsonValue

from modelpivot.models.model_config import KvSetting, ModelConfig

KV_KEYS = ("kv_cache_scheme", "kv_cache_quant_algo")
Config = dict[str, JsonValue]


def parse_model_config(config: Config) -> ModelConfig:
    """The plan's view of config.json; a text model inside a multimodal one is looked through. An unknown shape leaves its field empty."""
    text = _mapping(config.get("text_config"))
    return ModelConfig(
        architectures=_words(config.get("architectures")) or _words(text.get("architectures")),
        model_type=_word(config.get("model_type")),
        max_positions=_count(config.get("max_position_embeddings")) or _count(text.get("max_position_embeddings")),
        quantization=_quantization(_mapping(config.get("quantization_config")) or _mapping(text.get("quantization_config"))),
        kv_settings=_kv_settings(config),
        has_remote_code=bool(_mapping(config.get("auto_map")) or _mapping(text.get("auto_map"))),
    )


def _kv_settings(config: Config) -> list[KvSetting]:
    places = {
        "/quantization_config": _mapping(config.get("quantization_config")),
        "/text_config/quantization_config": _mapping(_mapping(config.get("text_config")).get("quantization_config")),
    }
    return [
        KvSetting(file="config.json", pointer=f"{place}/{key}", value=block[key])
        for place, block in places.items()
        for key in KV_KEYS
        if block.get(key) is not None
    ]


def _quantization(block: Config) -> str:
    return " ".join(filter(None, (_word(block.get("quant_method")), _word(block.get("quant_algo")))))


def _mapping(value: JsonValue) -> Config:
    return value if isinstance(value, dict) else {}


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _words(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
