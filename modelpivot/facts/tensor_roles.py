"""What an engine does with a tensor, told by its name: the plan knows by this what is divided among GPUs and what every GPU holds whole.

language_model.model.layers.7.mlp.experts.41.up_proj.weight -> experts       model.layers.0.self_attn.kv_a_proj_with_mqa.weight -> latent
model.layers.3.self_attn.k_proj.weight -> keys                               model.layers.61.eh_proj.weight (of 61) -> next_token
"""

import re
from functools import lru_cache

WHOLE_ROLES = ("experts", "shared_experts", "vision", "next_token")
"""Roles that keep their vectors."""
LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block|layer)\.(\d+)\.")
NAMES = tuple(
    (role, re.compile(pattern))
    for role, pattern in (
        ("next_token", r"(?:^|\.)(?:mtp|mtp_layers|mtp_block|nextn|eagle)\b|\.eh_proj\.|\.enorm\.|\.hnorm\."),
        (
            "vision",
            r"^(?:model\.)?(?:vision|visual|vit|image|audio|mm_|multi_modal|multimodal|video|sound|speech|aligner|mlp\.|embed_vision)",
        ),
        ("router", r"\.(?:gate|router|gate_proj_router)\.(?:weight|bias|e_score_correction_bias)$|\.router\.|e_score_correction_bias"),
        ("shared_experts", r"\.shared_expert"),
        ("experts", r"\.experts\.|\.local_experts\.|\.block_sparse_moe\.|\.expert_|\.moe\."),
        ("indexer", r"\.indexer\."),
        ("latent", r"\.(?:q_a_proj|kv_a_proj_with_mqa|kv_a_proj|fused_qkv_a_proj|wq_a|wkv_a)\b"),
        ("linear", r"\.(?:linear_attn|mamba|mixer|ssm|conv1d|recurrent|kda|short_conv)\b"),
        ("keys", r"\.(?:k_proj|v_proj|wk|wv|key|value)\b"),
        ("attention", r"attn|attention|\.(?:q_proj|o_proj|qkv_proj|q_b_proj|kv_b_proj)\b"),
        ("head", r"(?:^|\.)(?:lm_head|embed_out|output)\.(?:weight|bias|qweight|weight_scale)"),
        ("embedding", r"embed_tokens|tok_embeddings|word_embeddings|\bwte\b|embed_in|embeddings?\.weight"),
        ("mlp", r"\.(?:mlp|feed_forward|ffn|gate_proj|up_proj|down_proj|gate_up_proj|fc|w|c_fc)\b"),
    )
)


def role_of(name: str, dimensions: int, layers: int | None) -> str:
    """The role; `small` for a scalar or vector outside the experts (norms, scales, biases), `other` where no pattern fits.

    `layers`: those of the model where layers for multi-token prediction lie behind them; None: there are none.
    """
    role = _role_by_name(name.encode().translate(None, b"0123456789"))
    if layers is not None and role not in ("vision", "next_token") and (match := LAYER.search(name)) and int(match[1]) >= layers:
        return "next_token"
    return "small" if dimensions < 2 and role not in WHOLE_ROLES else role


@lru_cache(maxsize=4096)
def _role_by_name(without_digits: bytes) -> str:
    """Alike for all layers and experts: a model of 300,000 tensors has some dozens of names. (Bytes lose their digits six times faster than text.)"""
    name = without_digits.decode()
    return next((role for role, pattern in NAMES if pattern.search(name)), "other")
