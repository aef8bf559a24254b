"""Small checkpoints in every shape that sets the KV cache's type: config.json, and hf_quant_config.json or None. Own variants; no real model's file."""

from typing import Any, NamedTuple

Config = dict[str, Any]

COMMON: Config = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 256,
    "vocab_size": 1000,
    "max_position_embeddings": 4096,
    "dtype": "bfloat16",
}
LATENT: Config = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    **COMMON,
    "num_key_value_heads": 4,
    "kv_lora_rank": 512,
    "q_lora_rank": 64,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "moe_intermediate_size": 64,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "n_group": 1,
    "topk_group": 1,
    "topk_method": "noaux_tc",
    "first_k_dense_replace": 1,
}
HEADS: Config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", **COMMON, "num_key_value_heads": 2, "head_dim": 32}
FP8: Config = {"dynamic": False, "num_bits": 8, "type": "float"}
NVFP4: Config = {"dynamic": False, "num_bits": 4, "type": "float"}
INT8: Config = {"dynamic": False, "num_bits": 8, "type": "int"}
SCHEME: Config = {**FP8, "strategy": "tensor", "symmetric": True}
PRODUCER: Config = {"producer": {"name": "modelopt"}}
LAYERS: Config = {"model.layers.0.mlp.down_proj": {"quant_algo": "FP8"}}


class Shape(NamedTuple):
    """A checkpoint and what vLLM 0.32 makes of its KV cache."""

    config: Config
    aside: Config | None = None
    cache: str = ""
    """fp8, nvfp4; empty: the model's own type."""
    places: int = 1
    """How many settings a rule takes away."""
    is_refused: bool = False
    """The engine's parser does not take this checkpoint, patched or not."""


def flat(**settings: Any) -> Config:
    """A ModelOpt block as newer versions write it into config.json."""
    group = {"weights": {**NVFP4, "group_size": 16}, "input_activations": {**NVFP4, "group_size": 16}, "targets": ["Linear"]}
    return {"quant_method": "modelopt", "quant_algo": "NVFP4", "config_groups": {"group_0": group}, "ignore": [], **PRODUCER, **settings}


def older(algorithm: str = "NVFP4", **settings: Any) -> Config:
    """The older form, as it stands in hf_quant_config.json."""
    return {**PRODUCER, "quantization": {"quant_algo": algorithm, "group_size": 16, "exclude_modules": [], **settings}}


def compressed(**settings: Any) -> Config:
    """A compressed-tensors block."""
    eight = {"num_bits": 8, "type": "float", "symmetric": True}
    weights, inputs = {**eight, "strategy": "channel", "dynamic": False}, {**eight, "strategy": "token", "dynamic": True}
    group = {"weights": weights, "input_activations": inputs, "targets": ["Linear"]}
    words = {"quant_method": "compressed-tensors", "format": "float-quantized", "quantization_status": "compressed"}
    return {**words, "config_groups": {"group_0": group}, "ignore": ["lm_head"], **settings}


def mixed(**settings: Any) -> Config:
    """A block of MIXED_PRECISION."""
    return {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", **PRODUCER, **settings}


def top(block: Any, model: Config = LATENT) -> Config:
    """The block where it usually stands."""
    return {**model, "quantization_config": block}


def inside(block: Any) -> Config:
    """The block in the language model of a multimodal one."""
    text = {**LATENT, "quantization_config": block}
    return {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "dtype": "bfloat16",
        "vision_config": {},
        "text_config": text,
    }


ASIDE = older(kv_cache_quant_algo="FP8")
SHAPES: dict[str, Shape] = {
    "nothing set": Shape(top(flat()), places=0),
    "null": Shape(top(flat(kv_cache_scheme=None)), places=0),
    "not quantized": Shape(LATENT, places=0),
    "dict": Shape(top(flat(kv_cache_scheme=FP8)), cache="fp8"),
    "dict, bits as 8.0": Shape(top(flat(kv_cache_scheme={**FP8, "num_bits": 8.0})), cache="fp8"),
    "dict without dynamic": Shape(top(flat(kv_cache_scheme={"num_bits": 8, "type": "float"}))),
    "dict of 4 bits": Shape(top(flat(kv_cache_scheme=NVFP4)), cache="nvfp4"),
    "dict, heads": Shape(top(flat(kv_cache_scheme=FP8), HEADS), cache="fp8"),
    "string": Shape(top(flat(kv_cache_quant_algo="FP8")), cache="fp8"),
    "string in lower case": Shape(top(flat(kv_cache_quant_algo="fp8")), cache="fp8"),
    "string as scheme": Shape(top(flat(kv_cache_scheme="FP8")), cache="fp8"),
    "dict and string": Shape(top(flat(kv_cache_scheme=FP8, kv_cache_quant_algo="FP8")), cache="fp8", places=2),
    "unknown string": Shape(top(flat(kv_cache_quant_algo="FP8_E4M3")), places=0),
    "string that says none": Shape(top(flat(kv_cache_quant_algo="none")), places=0),
    "dict of integers": Shape(top(flat(kv_cache_scheme=INT8)), places=0),
    "list": Shape(top(flat(kv_cache_scheme=["FP8"])), places=0),
    "older form in config.json": Shape(top({**ASIDE, "quant_method": "modelopt"}), cache="fp8"),
    "older file alone": Shape(LATENT, ASIDE, cache="fp8"),
    "older file, block null": Shape(top(None), ASIDE, cache="fp8"),
    "older file, block empty": Shape(top({}), ASIDE),
    "older file with null": Shape(LATENT, older(kv_cache_quant_algo=None), places=0),
    "older file without the key": Shape(LATENT, older(), places=0, is_refused=True),
    "older file of FP8 weights": Shape(LATENT, older("FP8", kv_cache_quant_algo="FP8"), cache="fp8"),
    "older file without producer": Shape(LATENT, {"quantization": ASIDE["quantization"]}),
    "both files": Shape(top(flat(kv_cache_scheme=FP8)), ASIDE, cache="fp8", places=2),
    "both files, only the older sets it": Shape(top(flat()), ASIDE),
    "top and text model": Shape(
        {**inside(flat(kv_cache_scheme=FP8)), "quantization_config": flat(kv_cache_scheme=FP8)}, cache="fp8", places=2
    ),
    "older file, flat": Shape(LATENT, {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, cache="fp8"),
    "only the cache is quantized": Shape(LATENT, {**PRODUCER, "quantization": {"quant_algo": None, "kv_cache_quant_algo": "FP8"}}),
    "method in capitals": Shape(top({**flat(kv_cache_scheme=FP8), "quant_method": "ModelOpt"}), cache="fp8"),
    "mixed precision": Shape(top(mixed(kv_cache_scheme=FP8, quantized_layers=LAYERS)), cache="fp8"),
    "mixed precision, layers aside": Shape(
        top(mixed(kv_cache_scheme=FP8)),
        older("MIXED_PRECISION", kv_cache_quant_algo="FP8", quantized_layers=LAYERS),
        cache="fp8",
        places=2,
    ),
    "mixed precision, older file alone": Shape(
        LATENT, older("MIXED_PRECISION", kv_cache_quant_algo="FP8", quantized_layers=LAYERS), cache="fp8", is_refused=True
    ),
    "compressed-tensors, MLA": Shape(top(compressed(kv_cache_scheme=SCHEME))),
    "compressed-tensors, heads": Shape(top(compressed(kv_cache_scheme=SCHEME), HEADS), cache="fp8"),
    "compressed-tensors, older name": Shape({**HEADS, "compression_config": compressed(kv_cache_scheme=SCHEME)}, cache="fp8"),
    "compressed-tensors, null": Shape(top(compressed(kv_cache_scheme=None), HEADS), places=0),
    "text model": Shape(inside(flat(kv_cache_scheme=FP8))),
    "text model, compressed-tensors": Shape(inside(compressed(kv_cache_scheme=SCHEME))),
    "text model and older file": Shape(inside(flat(kv_cache_scheme=FP8)), ASIDE, cache="fp8", places=2),
}
