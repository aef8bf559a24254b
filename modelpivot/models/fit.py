"""Whether a model fits on the GPUs, and how long a context may be. Bytes of one GPU, the fullest one, unless said otherwise."""

from pydantic import Field

from modelpivot.models.frozen import Frozen


class Parallel(Frozen):
    """How the engine divides the model among GPUs."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    context: int = 1
    """Decode context parallel: the cache of one sequence divided among GPUs."""
    has_expert: bool = False
    """Experts are divided among all GPUs of the tensor and data parallel."""

    @property
    def gpus(self) -> int:
        """GPUs that one engine takes."""
        return self.tensor * self.pipeline * self.data


class Fit(Frozen):
    """The sum: memory times share, less weights, less what a forward pass and the runtime take; the rest is the KV cache."""

    parallel: Parallel
    share: float
    """gpu-memory-utilization."""
    memory_bytes: int
    """Of the smallest GPU, without what driver and firmware keep."""
    weights_bytes: int
    replicated_bytes: int
    """The part of the weights that every GPU holds whole."""
    activation_bytes: int
    """An estimate, with what the runtime and the GPUs' exchange take."""
    pool_bytes: int
    """For the KV cache; negative: the weights alone are too large."""
    kv_type: str
    bytes_per_token: int
    """Exact, in the layers whose cache grows with every token."""
    sequence_bytes: int
    """What one long sequence takes beside that: windows and states of fixed size."""
    tokens: int
    """That the pool holds."""
    longest: int
    """The longest context that surely fits, at most the model's own; 0: none."""
    asked: int | None
    """The recipe's max-model-len."""
    limit: int | None
    """The model's own."""
    is_exact: bool
    """False: the weights are known by their files' sizes only."""
    unplaced_bytes: int = 0
    """Of tensors that no rule places, counted whole on every GPU."""
    advice: list[str] = Field(default_factory=list)
    """What another division or KV type would give, one sentence each."""
