"""Which layers of a model keep keys and values of every token, of a window, or a state of fixed size. Reads the many spellings of config.json.

{"layer_types": ["sliding_attention", "full_attention", ...]}    {"sliding_window": 4096, "sliding_window_pattern": 6}
{"hybrid_override_pattern": "M-M-M-M*-M-"}                       {"full_attention_interval": 4}
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

Config = Mapping[str, JsonValue]
FULL = ("full_attention", "attention", "full", "global", "global_attention", "hybrid", "*")
WINDOW = ("sliding_attention", "chunked_attention", "sliding", "local", "local_attention")
LINEAR = ("linear_attention", "mamba", "mamba2", "recurrent", "kda", "gated_deltanet", "conv", "m")
ALTERNATING = {"gemma2": 2, "gemma3_text": 6, "gemma3": 6, "cohere2": 4, "gpt_oss": 2}
"""Model types that put one full layer after so many, where the file does not say it itself."""


class LayerKinds(NamedTuple):
    """Layers by what they keep."""

    full: int
    window: int
    linear: int


def count_layer_kinds(text: Config, layers: int) -> LayerKinds:
    """How many layers of each kind; all full where nothing else is said. An unknown word counts as full: the largest of the three."""
    words = _named_kinds(text) or _patterned_kinds(text, layers)
    if words is None:
        return _windowed(text, layers)
    kinds = [kind_of(word) for word in words[:layers]]
    unnamed = 0 if "hybrid_override_pattern" in text else layers - len(kinds)
    return LayerKinds(unnamed + kinds.count("full"), kinds.count("window"), kinds.count("linear"))


def kind_of(word: str) -> str:
    """full, window, linear, or none (an MLP or expert layer of a hybrid model)."""
    lowered = word.lower()
    if lowered in ("-", "e", "mlp", "moe"):
        return "none"
    if lowered in LINEAR or "mamba" in lowered or "linear" in lowered:
        return "linear"
    return "window" if lowered in WINDOW else "full"


def read_window(text: Config) -> int | None:
    """Tokens of the window; None: there is none, or it is switched off."""
    for key in ("sliding_window", "sliding_window_size", "attention_chunk_size", "local_attention_window"):
        value = text.get(key)
        if isinstance(value, list):
            value = next((each for each in value if isinstance(each, int)), None)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0 and text.get("use_sliding_window") is not False:
            return value
    return None


def _named_kinds(text: Config) -> list[str] | None:
    for key in ("layer_types", "layers_block_type", "block_types", "attention_layer_types", "layer_block_types"):
        value = text.get(key)
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return [str(each) for each in value]
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return list(pattern)
    types = text.get("attn_type_list")
    return ["full" if each else "linear" for each in types] if isinstance(types, list) and types else None


def _patterned_kinds(text: Config, layers: int) -> list[str] | None:
    """Every n-th layer is full, the others linear; or the full ones are named by number."""
    linear = text.get("linear_attn_config")
    named = linear.get("full_attn_layers") if isinstance(linear, Mapping) else text.get("attn_layer_indices")
    if isinstance(named, list):
        first = 1 if isinstance(linear, Mapping) else 0
        return ["full" if number in named else "linear" for number in range(first, layers + first)]
    interval, offset = text.get("full_attention_interval"), -1
    if not _is_size(interval):
        interval, offset = text.get("attn_layer_period"), _size(text.get("attn_layer_offset"))
    if not isinstance(interval, int) or interval < 1:
        return ["linear"] * layers if _is_pure_state_space(text) else None
    return ["full" if number % interval == offset % interval else "linear" for number in range(layers)]


def _windowed(text: Config, layers: int) -> LayerKinds:
    window = read_window(text)
    if window is None:
        return LayerKinds(layers, 0, 0)
    spelled = text.get("sliding_window")
    if isinstance(spelled, list) and spelled:
        windowed = sum(isinstance(spelled[number % len(spelled)], int) for number in range(layers))
        return LayerKinds(layers - windowed, windowed, 0)
    pattern = text.get("sliding_window_pattern") or text.get("_sliding_window_pattern") or ALTERNATING.get(str(text.get("model_type")))
    if isinstance(pattern, int) and pattern > 0:
        return LayerKinds(layers // pattern, layers - layers // pattern, 0)
    first = text.get("max_window_layers")
    if text.get("use_sliding_window") is True and isinstance(first, int):
        return LayerKinds(min(first, layers), max(0, layers - first), 0)
    return LayerKinds(0, layers, 0)


def _is_pure_state_space(text: Config) -> bool:
    return str(text.get("model_type")) in ("mamba", "mamba2", "falcon_mamba", "rwkv", "rwkv7")


def _is_size(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _size(value: JsonValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def state_bytes(text: Config) -> int:
    """Bytes that one sequence keeps in one linear layer: convolution and recurrent state, at four bytes an element, an upper bound."""
    hidden = _size(text.get("hidden_size"))
    sizes = [*_delta_state(text), *_mamba2_state(text), *_mamba1_state(text, hidden), *_kda_state(text)]
    return 4 * (max(sizes, default=0) or hidden * 64)


def _delta_state(text: Config) -> Sequence[int]:
    names = ("linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads", "linear_value_head_dim")
    key_heads, key_dim, value_heads, value_dim = (_size(text.get(name)) for name in names)
    if not value_heads:
        return []
    convolution = (2 * key_heads * key_dim + value_heads * value_dim) * max(0, _size(text.get("linear_conv_kernel_dim")) - 1)
    return [convolution + value_heads * key_dim * value_dim]


def _mamba2_state(text: Config) -> Sequence[int]:
    heads = _size(text.get("mamba_num_heads")) or _size(text.get("mamba_n_heads"))
    width = _size(text.get("mamba_head_dim")) or _size(text.get("mamba_d_head"))
    state = _size(text.get("ssm_state_size")) or _size(text.get("mamba_d_state")) or _size(text.get("state_size"))
    if not heads * width * state:
        return []
    groups = _size(text.get("n_groups")) or _size(text.get("mamba_n_groups")) or 1
    taps = (_size(text.get("conv_kernel")) or _size(text.get("mamba_d_conv")) or 4) - 1
    return [heads * width * state + (heads * width + 2 * groups * state) * taps]


def _mamba1_state(text: Config, hidden: int) -> Sequence[int]:
    state = _size(text.get("mamba_d_state")) or _size(text.get("state_size"))
    inner = (_size(text.get("mamba_expand")) or _size(text.get("expand")) or 2) * hidden
    taps = (_size(text.get("mamba_d_conv")) or _size(text.get("conv_kernel")) or 4) - 1
    return [inner * (state + taps)] if state else []


def _kda_state(text: Config) -> Sequence[int]:
    linear = text.get("linear_attn_config")
    if not isinstance(linear, Mapping):
        return []
    heads, width = _size(linear.get("num_heads")), _size(linear.get("head_dim"))
    return [heads * width * width + 3 * heads * width * max(0, _size(linear.get("short_conv_kernel_size")) - 1)]
