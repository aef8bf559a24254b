"""What one run does differently from its recipe: the few fields that a person changes in a form."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, WithJsonSchema, model_serializer

from modelpivot.models.frozen import Frozen

PLAIN_WORD = r"^[A-Za-z0-9][A-Za-z0-9._+!/-]*$"

Tokens = Annotated[int | None, WithJsonSchema({"type": "integer", "minimum": 16})]
Parallel = Annotated[int | None, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 64})]
Share = Annotated[float | None, WithJsonSchema({"type": "number", "minimum": 0.05, "maximum": 0.99})]
Port = Annotated[int | None, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 65535})]
Word = Annotated[str | None, WithJsonSchema({"type": "string", "pattern": PLAIN_WORD})]
Unconfirmed = Annotated[Literal["return", "keep"] | None, WithJsonSchema({"type": "string", "enum": ["return", "keep"]})]
Minutes = Annotated[float | None, WithJsonSchema({"type": "number", "minimum": 1, "maximum": 10080})]
"""Fields of one type each: with `null` beside it a form would show a type switch instead of an input."""


def _without_default(schema: dict[str, Any]) -> None:
    """A form sends a default of `null` back as it is, and then refuses it: what may be left empty has no default there."""
    schema.pop("default", None)


def _optional(title: str, description: str, **limits: Any) -> Any:
    return Field(default=None, title=title, description=description, json_schema_extra=_without_default, **limits)


class Overrides(Frozen):
    """What this run does differently from its recipe; a field left empty is as the recipe says."""

    max_model_len: Tokens = _optional(
        "Context length", "Tokens of one request and its answer (--max-model-len). Empty: the recipe's, or what fits.", ge=16
    )
    tensor_parallel_size: Parallel = _optional(
        "Tensor parallel size", "Over how many GPUs each layer is divided (--tensor-parallel-size).", ge=1, le=64
    )
    gpu_memory_utilization: Share = _optional(
        "GPU memory share", "How much of each GPU's memory the engine takes, 0.90 for 90 %.", ge=0.05, le=0.99
    )
    port: Port = _optional("Port", "Where the model answers; a port of the host's own goes before it.", ge=1, le=65535)
    engine_version: Word = _optional(
        "Engine version", "Such as 0.32.0. One that was not tested here is a question of the plan.", pattern=PLAIN_WORD
    )
    revision: Word = _optional("Revision of the model", "Branch, tag or commit of its repository on the Hub.", pattern=PLAIN_WORD)
    unconfirmed: Unconfirmed = _optional(
        "When nobody confirms",
        "return: the switch goes back by itself at its deadline, to what served before. keep: it promotes the new model.",
    )
    confirm_minutes: Minutes = _optional(
        "Minutes to confirm", "How long the new model may serve unconfirmed before that happens.", ge=1, le=10080
    )
    skip_benchmark: bool = Field(
        default=False,
        title="Skip the benchmark",
        description="Measure nothing, hold nothing against floors or the baseline: the probes alone decide.",
    )
    consents: list[str] = Field(
        default_factory=list,
        title="Consents",
        description="Ids of questions of the plan that are answered with yes, such as untested-engine.",
    )

    @model_serializer(mode="wrap")
    def _without_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What was left empty is not there."""
        return {name: value for name, value in serialize(self).items() if value is not None}
