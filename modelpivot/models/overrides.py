"""What one run does differently from its recipe: the few fields that a person changes in a form."""

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

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


class Overrides(Frozen):
    """What this run does differently from its recipe; a field left empty is as the recipe says."""

    max_model_len: Tokens = Field(
        None,
        ge=16,
        title="Context length",
        description="Tokens of one request and its answer (--max-model-len). Empty: the recipe's, or what fits.",
    )
    tensor_parallel_size: Parallel = Field(
        None, ge=1, le=64, title="Tensor parallel size", description="Over how many GPUs each layer is divided (--tensor-parallel-size)."
    )
    gpu_memory_utilization: Share = Field(
        None, ge=0.05, le=0.99, title="GPU memory share", description="How much of each GPU's memory the engine takes, 0.90 for 90 %."
    )
    port: Port = Field(None, ge=1, le=65535, title="Port", description="Where the model answers; a port of the host's own goes before it.")
    engine_version: Word = Field(
        None,
        pattern=PLAIN_WORD,
        title="Engine version",
        description="Such as 0.32.0. One that was not tested here is a question of the plan.",
    )
    revision: Word = Field(
        None, pattern=PLAIN_WORD, title="Revision of the model", description="Branch, tag or commit of its repository on the Hub."
    )
    unconfirmed: Unconfirmed = Field(
        None,
        title="When nobody confirms",
        description="return: the switch goes back by itself at its deadline. keep: it promotes the new model.",
    )
    confirm_minutes: Minutes = Field(
        None, ge=1, le=10080, title="Minutes to confirm", description="How long the new model may serve unconfirmed before that happens."
    )
    skip_benchmark: bool = Field(
        False,
        title="Skip the benchmark",
        description="Measure nothing, hold nothing against floors or the baseline: the probes alone decide.",
    )
    consents: list[str] = Field(
        default_factory=list,
        title="Consents",
        description="Ids of questions of the plan that are answered with yes, such as untested-engine.",
    )
