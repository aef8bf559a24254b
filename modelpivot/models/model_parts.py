"""Parts of what is known of a model beside its files and config: exact bytes, card, access, what lies on disk."""

from pathlib import Path

from pydantic import Field

from modelpivot.models.frozen import Frozen


class TensorGroup(Frozen):
    """Tensors of one role and type, summed over all files."""

    role: str
    """What an engine does with them: see `facts/tensor_roles.py`."""
    dtype: str
    tensors: int
    size_bytes: int


class ModelWeights(Frozen):
    """Exact bytes by role and type, told by the files' headers."""

    groups: list[TensorGroup]
    files: int
    read_bytes: int
    """What was read to know it."""

    @property
    def size_bytes(self) -> int:
        """All tensors."""
        return sum(group.size_bytes for group in self.groups)


class ModelCard(Frozen):
    """What the model's card says; advice, never believed over what is read."""

    license: str = ""
    license_link: str = ""
    base_model: str = ""
    tensor_parallel: int | None = None
    """The size that the card's example serves with."""
    engine_version: str = ""
    """The vLLM that it asks for, `>=0.15.0`."""
    flags: list[str] = Field(default_factory=list)
    """Flags of its first serving example."""


class HubAccess(Frozen):
    """Who may read the repository."""

    is_gated: bool = False
    """Access must be asked for; that its files were read shows that the token opens it."""
    is_private: bool = False
    has_token: bool = False


class WeightsOnDisk(Frozen):
    """What of a manifest already lies in its directory."""

    directory: Path
    present_files: int
    """Whole by their receipts."""
    missing_bytes: int
    """Still to come, partial downloads counted as there."""
    missing_files: int
