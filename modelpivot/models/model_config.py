"""What a model's config.json says of it, as far as a plan asks."""

from pydantic import Field, JsonValue

from modelpivot.models.frozen import Frozen


class KvSetting(Frozen):
    """One place that sets the type of the KV cache."""

    file: str
    pointer: str
    value: JsonValue


class ModelConfig(Frozen):
    """The model, told by its config.json; empty or None: the file does not say."""

    architectures: list[str] = Field(default_factory=list)
    model_type: str = ""
    max_positions: int | None = None
    """Tokens of the longest context the model was made for."""
    quantization: str = ""
    """Method and algorithm, such as `modelopt NVFP4`."""
    kv_settings: list[KvSetting] = Field(default_factory=list)
    has_remote_code: bool = False
    """True: the repository brings Python code of its own (`auto_map`)."""
