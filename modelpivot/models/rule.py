"""A compatibility rule as data: when it holds, what it does, why, and where that is known from."""

from typing import Literal

from pydantic import Field

from modelpivot.models.frozen import Frozen

MeansKind = Literal["patch_kv", "flag", "env", "hf_overrides", "advise", "warn", "block"]


class When(Frozen):
    """All that is named must hold; what is left empty is not asked. A condition on a number that is unread does not hold."""

    capabilities: list[str] = Field(default_factory=list)
    """Compute capabilities, one of them: `12.0`."""
    capability_below: str = ""
    capability_from: str = ""
    engine_versions: str = ""
    """PEP 440 specifiers, `>=0.10,<0.33`."""
    quantization: str = ""
    """Regular expression over method and algorithm."""
    kv_bits: int | None = None
    """Bits, in float, that a flag or else any place of the checkpoint asks of the KV cache: 8 is FP8, 4 NVFP4."""
    attention: list[str] = Field(default_factory=list)
    """MLA, GQA, MHA, MQA: one of them."""
    is_sparse: bool | None = None
    """A sparse indexer beside MLA."""
    family: str = ""
    """Regular expression over model type, architecture and repository, in lower case."""
    has_remote_code: bool | None = None
    has_vision: bool | None = None
    is_parallel: bool | None = None
    """More than one GPU for one engine."""
    is_pcie_only: bool | None = None
    """No NVLink between the chosen GPUs."""
    lacks_flags: list[str] = Field(default_factory=list)
    """Flags that the recipe does not set."""


class Means(Frozen):
    """One thing that a rule does. The recipe's own word goes before it."""

    kind: MeansKind
    """patch_kv: every place that sets the KV cache's type, in the view; flag and env: set, where the recipe says nothing; hf_overrides: one key of
    `--hf-overrides`; advise: for a first recipe only; warn and block: said."""
    name: str = ""
    value: str | bool = ""
    engine_versions: str = ""
    """PEP 440 specifiers of the versions that this means is for; empty: all that the rule holds for. So one rule can have a means for each."""
    text: str = ""
    """warn, block: the sentence; block: expected, found and the next move follow from it."""


class Rule(Frozen):
    """One rule."""

    id: str
    when: When
    means: list[Means]
    why: str
    link: str = ""
    """Where it was reported."""
    tested: list[str] = Field(default_factory=list)
    """Engine versions with which it was last seen to be needed."""


class AppliedRule(Frozen):
    """A rule that holds here, and what it did."""

    id: str
    why: str
    link: str = ""
    did: list[str] = Field(default_factory=list)
    """One phrase a means; empty: the recipe had said otherwise, or there was nothing to do."""
