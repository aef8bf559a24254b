"""The fit against what vLLM itself printed: bytes per token exactly, the pool within 1 GiB and never optimistic by more."""

import re
from pathlib import Path
from typing import Any

import pytest

from modelpivot.facts.model_config import parse_model_config
from modelpivot.models.fit import Fit
from modelpivot.models.frozen import Unread
from modelpivot.models.gpu import Gpu
from modelpivot.models.model_parts import ModelWeights, TensorGroup
from modelpivot.plans.fit import judge_fit

CAPTURES = Path(__file__).parents[1] / "captures"
MIB, GIB = 2**20, 2**30
COMMON = {"vocab_size": 32768, "max_position_embeddings": 8192, "dtype": "bfloat16"}
QWEN = {**COMMON, "num_key_value_heads": 8, "head_dim": 128}
BASE: dict[str, Any] = {**QWEN, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16}
LARGE: dict[str, Any] = {**QWEN, "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32}
DEEPSEEK: dict[str, Any] = {
    **COMMON,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "n_routed_experts": 16,
    "num_experts_per_tok": 4,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}
SERVED = {
    "vllm-0.26-h200-qwen3-ok.log": (BASE, ""),
    "vllm-0.26-h200-qwen3-7b-cold-ok.log": (LARGE, ""),
    "vllm-0.26-h200-qwen3-7b-gated-ok.log": (LARGE, ""),
    "vllm-0.26-h200-dsv3-nvfp4-fp8kv-ok.log": (DEEPSEEK, "fp8"),
    "vllm-0.26-h200-dsv3-nvfp4-bf16kv-ok.log": (DEEPSEEK, ""),
}
"""Captured start -> config.json of the model that was served, and the KV type it declared."""


def card(total_mib: int = 143771, reserved_mib: int = 616) -> Gpu:
    """The H200 of the captures."""
    sizes = {"total_bytes": total_mib * MIB, "used_bytes": 0, "reserved_bytes": reserved_mib * MIB}
    return Gpu(index=0, uuid="GPU-0", name="NVIDIA H200", compute_capability="9.0", driver="580", mig="Disabled", **sizes)


def weights(**roles: int) -> ModelWeights:
    """Bytes by role."""
    groups = [TensorGroup(role=role, dtype="BF16", tensors=1, size_bytes=size) for role, size in roles.items()]
    return ModelWeights(groups=groups, files=1, read_bytes=0)


def fit(config: dict[str, Any], roles: dict[str, int], *, cards: int = 1, declared: str = "", **args: Any) -> Fit:
    """A fit that is known."""
    flags = {name.replace("_", "-"): value for name, value in args.items()}
    found = judge_fit(parse_model_config(config), weights(**roles), [card()] * cards, flags, declared_kv=declared)
    assert isinstance(found, Fit), found
    return found


def printed(name: str, pattern: str) -> float:
    """A figure of the log."""
    match = re.search(pattern, (CAPTURES / name).read_text())
    assert match
    return float(match[1].replace(",", ""))


def of_capture(name: str) -> Fit:
    """The fit of a captured start, with the checkpoint's size as the log tells it."""
    config, declared = SERVED[name]
    size = printed(name, r"Checkpoint size: ([\d.]+) GiB")
    return fit(config, {"whole": round(size * GIB)}, declared=declared, max_model_len=4096)


@pytest.mark.parametrize("name", SERVED)
def test_bytes_per_token_are_exact(name: str) -> None:
    """vLLM's pool divided by its tokens is our figure, to the byte that its two decimals leave open."""
    pool, tokens = printed(name, r"Available KV cache memory: ([\d.]+) GiB"), printed(name, r"GPU KV cache size: ([\d,]+) tokens")
    ours = of_capture(name).bytes_per_token
    assert (pool - 0.005) * GIB / (tokens + 64) <= ours <= (pool + 0.005) * GIB / tokens


@pytest.mark.parametrize("name", SERVED)
def test_the_pool_is_right_within_a_gibibyte(name: str) -> None:
    """And never larger than what was there by more than the two decimals of the log."""
    seen = printed(name, r"Available KV cache memory: ([\d.]+) GiB")
    ours = of_capture(name).pool_bytes / GIB
    assert seen - 1 <= ours <= seen + 0.01


@pytest.mark.parametrize("name", SERVED)
def test_what_surely_fits_does_fit(name: str) -> None:
    """The longest context leaves its margin."""
    found = of_capture(name)
    assert found.longest <= printed(name, r"GPU KV cache size: ([\d,]+) tokens")


def test_without_fp8_the_cache_holds_half() -> None:
    """E7: the same card, 59.1 M tokens down to 29.6 M."""
    eight, sixteen = of_capture("vllm-0.26-h200-dsv3-nvfp4-fp8kv-ok.log"), of_capture("vllm-0.26-h200-dsv3-nvfp4-bf16kv-ok.log")
    assert eight.tokens == pytest.approx(2 * sixteen.tokens, rel=1e-5)
    assert eight.tokens == pytest.approx(59_149_760, rel=0.01)


@pytest.mark.parametrize(("tensor", "heads"), [(1, 8), (2, 4), (8, 1), (16, 1)])
def test_heads_are_divided_and_then_repeated(tensor: int, heads: int) -> None:
    """GQA: a GPU keeps at least one head, however many there are."""
    found = fit(LARGE, {"whole": GIB}, cards=tensor, tensor_parallel_size=tensor)
    assert found.bytes_per_token == heads * 2 * 128 * 2 * 36


def test_latent_attention_is_not_divided() -> None:
    """MLA: every GPU of a tensor parallel keeps the whole cache; context parallel divides it."""
    whole = fit(DEEPSEEK, {"whole": GIB}, cards=4, tensor_parallel_size=4)
    shared = fit(DEEPSEEK, {"whole": GIB}, cards=4, tensor_parallel_size=4, decode_context_parallel_size=4)
    assert (whole.bytes_per_token, shared.bytes_per_token) == (4608, 1152)


def test_a_sparse_indexer_keeps_its_own_keys() -> None:
    """DSA in FP8: 656 bytes a layer, and 132 for the indexer; in bfloat16 the plain vector and the indexer."""
    sparse = {**DEEPSEEK, "index_head_dim": 128, "index_topk": 2048}
    assert fit(sparse, {"whole": GIB}, declared="fp8").bytes_per_token == 4 * (656 + 132)
    assert fit(sparse, {"whole": GIB}).bytes_per_token == 4 * (1152 + 132)


def test_what_is_divided_and_what_every_gpu_holds() -> None:
    """Experts and attention are divided; routers, norms and MLA's low-rank parts are whole; two KV heads at most in two."""
    config = {**LARGE, "num_key_value_heads": 2}
    found = fit(config, {"attention": 8 * GIB, "keys": 4 * GIB, "router": GIB, "latent": GIB}, cards=8, tensor_parallel_size=8)
    assert found.weights_bytes == (1 + 2 + 1 + 1) * GIB
    assert found.replicated_bytes == 2 * GIB


def test_expert_parallel_divides_experts_among_all() -> None:
    """Two data-parallel groups of four: an eighth of the experts on each GPU, a quarter of the attention."""
    parts = {"experts": 64 * GIB, "attention": 8 * GIB}
    found = fit(LARGE, parts, cards=8, tensor_parallel_size=4, data_parallel_size=2, enable_expert_parallel=True)
    assert found.weights_bytes == (8 + 2) * GIB


def test_a_pipeline_holds_its_deepest_stage() -> None:
    """36 layers over 8 stages: five of them."""
    found = fit(LARGE, {"mlp": 36 * GIB}, cards=8, pipeline_parallel_size=8)
    assert found.weights_bytes == 5 * GIB


def test_layers_for_prediction_are_loaded_for_it_only() -> None:
    """Multi-token prediction costs nothing until it is switched on."""
    parts = {"mlp": GIB, "next_token": 5 * GIB}
    assert fit(LARGE, parts).weights_bytes == GIB
    assert fit(LARGE, parts, speculative_config='{"method":"mtp"}').weights_bytes == 6 * GIB


def test_windows_cost_their_window() -> None:
    """A model that alternates windows of 1024 takes for the longest context little more than its full layers."""
    plain = fit({**LARGE, "max_position_embeddings": 262144}, {"whole": 13 * GIB})
    mixed = {
        **LARGE,
        "max_position_embeddings": 262144,
        "sliding_window": 1024,
        "layer_types": ["sliding_attention", "full_attention"] * 18,
    }
    found = fit(mixed, {"whole": 13 * GIB})
    assert found.bytes_per_token == plain.bytes_per_token // 2
    assert found.sequence_bytes == found.bytes_per_token * (1024 + 8192)


def test_linear_layers_keep_one_state() -> None:
    """Three of four layers linear: their state does not grow."""
    hybrid = {**LARGE, "full_attention_interval": 4, "linear_num_value_heads": 32, "linear_value_head_dim": 128, "linear_num_key_heads": 16}
    hybrid |= {"linear_key_head_dim": 128, "linear_conv_kernel_dim": 4}
    found = fit(hybrid, {"whole": 13 * GIB})
    assert found.bytes_per_token == fit(LARGE, {"whole": 13 * GIB}).bytes_per_token // 4
    assert found.sequence_bytes == 27 * 4 * ((2 * 16 * 128 + 32 * 128) * 3 + 32 * 128 * 128)


def test_the_smallest_card_counts() -> None:
    """H3: cards of one kind differ by a few hundred MiB; none is compared for equality."""
    found = judge_fit(
        parse_model_config(LARGE), weights(whole=GIB), [card(97887), card(97250)], {"tensor-parallel-size": 2}, declared_kv=""
    )
    assert isinstance(found, Fit) and found.memory_bytes == (97250 - 616) * MIB


def test_a_card_that_does_not_tell_makes_the_fit_unread() -> None:
    """H1: no fit is made of a number that nobody told."""
    silent = card().model_copy(update={"total_bytes": Unread(unread="[N/A]")})
    found = judge_fit(parse_model_config(LARGE), weights(whole=GIB), [silent], {}, declared_kv="")
    assert isinstance(found, Unread) and "[N/A]" in found.unread


@pytest.mark.parametrize("config", [{}, {"model_type": "x", "num_hidden_layers": 4}, {"num_hidden_layers": 2, "num_attention_heads": 4}])
def test_a_config_that_says_too_little_makes_the_fit_unread(config: dict[str, Any]) -> None:
    """Nothing is guessed."""
    assert isinstance(judge_fit(parse_model_config(config), weights(whole=GIB), [card()], {}, declared_kv=""), Unread)


@pytest.mark.parametrize(("word", "length"), [(4096, 4096), ("32k", 32000), ("32K", 32768), ("1M", 2**20), ("auto", None), (-1, None)])
def test_lengths_are_read_as_the_engine_reads_them(word: object, length: int | None) -> None:
    """`k` is a thousand and `K` 1024; what is left to the engine is left to the plan."""
    assert fit(LARGE, {"whole": GIB}, max_model_len=word).asked == length


def test_tensors_of_unknown_names_are_counted_whole() -> None:
    """Never optimistic: on every GPU."""
    found = fit(LARGE, {"other": 8 * GIB}, cards=8, tensor_parallel_size=8)
    assert (found.weights_bytes, found.unplaced_bytes) == (8 * GIB, 8 * GIB)
