"""What a model's config.json says of it, as far as a plan asks."""

from typing import Literal

from pydantic import Field, JsonValue

from modelpivot.models.frozen import Frozen
from modelpivot.models.pointer import say_json


class KvSetting(Frozen):
    """One place that sets the type of the KV cache."""

    file: str
    pointer: str
    value: JsonValue
    counts: bool = True
    """False: another place goes before it, or the engine does not look here, so that it says nothing to it."""

    @property
    def word(self) -> Literal["fp8", "nvfp4", ""]:
        """What it says in a shape that is known: `FP8`, or a scheme of 8 bits float; empty: a shape that nobody here knows."""
        value = self.value
        if isinstance(value, dict):
            value = {"8 float": "FP8", "4 float": "NVFP4"}.get(f"{_number(value.get('num_bits')):g} {value.get('type')}", "")
        said = value.lower() if isinstance(value, str) else ""
        return "fp8" if said == "fp8" else "nvfp4" if said == "nvfp4" else ""

    def __str__(self) -> str:
        return f"{self.file} {self.pointer}: {say_json(self.value)}"


def _number(value: JsonValue) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 100 else 0.0


class Latent(Frozen):
    """Multi-head latent attention (MLA): one compressed vector a token and layer instead of keys and values a head."""

    kv_rank: int
    rope_dim: int
    nope_dim: int = 0
    """Of a head's key, the part without position."""
    index_dim: int = 0
    """Width of the keys that a sparse indexer keeps beside it; 0: no indexer."""

    @property
    def width(self) -> int:
        """Elements that the cache holds a token and layer."""
        return self.kv_rank + self.rope_dim


class Attention(Frozen):
    """What decides the size of the KV cache."""

    heads: int
    kv_heads: int
    """Fewer than `heads`: grouped (GQA); 1: multi-query."""
    key_dim: int
    value_dim: int
    latent: Latent | None = None
    full_layers: int
    """Layers whose cache grows with every token."""
    window_layers: int = 0
    window: int | None = None
    """Tokens that a window layer looks back."""
    linear_layers: int = 0
    """Layers with a state of fixed size instead (linear attention, SSM)."""
    state_bytes: int = 0
    """Of one sequence in one linear layer, before it is divided among GPUs; an upper bound."""


class Experts(Frozen):
    """A mixture of experts."""

    routed: int
    per_token: int
    shared: int = 0
    width: int = 0
    """Inner size of one expert."""


class Quantization(Frozen):
    """One place that names a quantization."""

    file: str
    pointer: str
    method: str
    algorithm: str = ""
    counts: bool = True
    """False: another place goes before it."""


class ModelConfig(Frozen):
    """The model, told by its config.json; empty or None: the file does not say."""

    architectures: list[str] = Field(default_factory=list)
    model_type: str = ""
    text_model_type: str = ""
    """Of the language model inside a multimodal one; else the same."""
    max_positions: int | None = None
    """Tokens of the longest context the model was made for."""
    quantization: str = ""
    """Method and algorithm, such as `modelopt NVFP4`."""
    quantizations: list[Quantization] = Field(default_factory=list)
    """Every place that names one, the one that counts first."""
    kv_settings: list[KvSetting] = Field(default_factory=list)
    kv_strange: list[str] = Field(default_factory=list)
    """Places that speak of a quantized KV cache in a way that nobody here knows: file and pointer."""
    has_remote_code: bool = False
    """True: the repository brings Python code of its own (`auto_map`)."""
    layers: int | None = None
    hidden: int | None = None
    inner: int | None = None
    """Inner size of a dense layer's MLP."""
    vocabulary: int | None = None
    dtype: str = ""
    """Of what is not quantized: bfloat16, float16."""
    attention: Attention | None = None
    """None: the file does not say enough to know the KV cache."""
    experts: Experts | None = None
    next_token_layers: int = 0
    """Layers for multi-token prediction behind the model's own; loaded for speculative decoding only."""
    has_vision: bool = False

    @property
    def kind(self) -> Literal["MLA", "MHA", "GQA", "MQA", "none", "unknown"]:
        """The kind of attention, in the usual words."""
        attention = self.attention
        if attention is None:
            return "unknown"
        if attention.latent:
            return "MLA"
        if not attention.full_layers + attention.window_layers:
            return "none"
        return "MQA" if attention.kv_heads == 1 else "GQA" if attention.kv_heads < attention.heads else "MHA"
